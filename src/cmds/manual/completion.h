/* completion.h - what the completion scripts of the shells share. */
#ifndef SONDE_CMDS_MANUAL_COMPLETION_H
#define SONDE_CMDS_MANUAL_COMPLETION_H

#include "cmds/command.h"

/* Print the script. */
void sonde_completion_bash(void);
void sonde_completion_fish(void);
void sonde_completion_zsh(void);

/* Does this option take a folder? Other texts are files, for want of knowing better. */
bool sonde_completes_folders(const struct sonde_option *option);

#endif
