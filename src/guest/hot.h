/* hot.h - what each hook reads of the process lies side by side: variables of the agent and of backends, few lines, one page mostly. */
#ifndef SONDE_GUEST_HOT_H
#define SONDE_GUEST_HOT_H

#define SONDE__HOT_DATA __attribute__((section("sonde_hot")))

#endif
