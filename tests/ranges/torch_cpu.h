/* torch_cpu.h - operators of a library that looks like PyTorch's to Sonde. */
#ifndef FAKE_TORCH_CPU_H
#define FAKE_TORCH_CPU_H

#include <stdint.h>

struct fake_node { uint64_t thread, sequence; };

/* Where a RecordFunction has its sequence number, and how much further its thread, in words. */
extern unsigned fake_word, fake_distance;

/* How it keeps its name: as a std::string, a c10::string_view, a std::string_view; 0: in no way that any version had. */
extern char fake_text;

struct fake_node fake_forward(void (*work)(void));
void fake_backward(struct fake_node node, const char *name, void (*work)(void));

#endif
