/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information of loaded objects (.eh_frame_hdr, .eh_frame): where the caller of a program counter has its frame.
 * x86-64, and of it what stacks need: rip, rsp, rbp, rbx. Allocates nothing, takes no lock, may be called in a signal handler; tables
 * may be damaged, and gone while they are read. Layouts: LSB Core, "Exception Frames"; DWARF 4, section 6.4.
 */
#ifndef BASE_CFI_H
#define BASE_CFI_H

#include <stdbool.h>
#include <stdint.h>

/* Where the frame of the caller begins (the CFA). The return address lies below it. */
enum cfi_cfa {
	CFI_NONE,   /* not described, or in a way that is not supported */
	CFI_RSP,    /* rsp + offset */
	CFI_RBP,    /* rbp + offset */
	CFI_RBX,    /* rbx + offset: the loader, where it binds a call */
	CFI_AT_RBP, /* in the word at rbp + offset: functions that align their stack */
	CFI_PLT, /* rsp + 8, and 8 more behind the push of a lazy PLT entry, which is `offset` long */
	CFI_SIGNAL,   /* the kernel's frame of a signal lies at rsp */
	CFI_OUTERMOST /* there is no caller */
};

/* Where the caller's value of a register is. */
enum cfi_kept {
	CFI_SAME,
	CFI_BELOW,  /* in the word at the CFA + offset */
	CFI_BY_RBP, /* in the word at rbp + offset */
	CFI_LOST
};

struct cfi_rule {
	int32_t cfa_offset;
	int16_t rbp_offset, rbx_offset;
	uint8_t cfa;      /* enum cfi_cfa */
	uint8_t rbp, rbx; /* enum cfi_kept */
};

/* Tables of one object: the segment that has them. */
struct cfi_tables {
	uint64_t header;     /* of .eh_frame_hdr; 0: the object has none */
	uint64_t start, end; /* what may be read */
	bool stays;          /* the memory cannot go away: it is read without care */
};

/* False: `pc` is not described. */
bool cfi_find(const struct cfi_tables *t, uint64_t pc, struct cfi_rule *out);

#endif
