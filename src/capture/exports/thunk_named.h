/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thunks of the door of libraries that are named, for its generated part (tools/gen/gen_exports.py).
 * THUNK(function, library, number) goes to the WAY(library), which goes on to the function itself
 * when the caller is of the library, else where the entry says; to exports_unbound where there is none.
 * A function that ends by jumping to another one of its library returns to libkymo, which is the 15th owner.
 * The thunks have one entry of unwind information together: they change nothing of the frame.
 */
#ifndef CAPTURE_EXPORTS_THUNK_NAMED_H
#define CAPTURE_EXPORTS_THUNK_NAMED_H

#include "capture/exports/door.h"

#define OWN(library) "exports_own + 16 * " #library

#if defined(__x86_64__) /* r10 and r11 are nobody's between caller and function */
#define JUMP(library, number)                                                                      \
	"\tendbr64\n\tmov $" #number ", %r11d\n\tjmp exports_way_" #library "\n"
#define GO(library)                                                                                \
	"\tmov (%rsp), %r10\n\tsub " OWN(                                                          \
		library) "(%rip), %r10\n"                                                          \
			 "\tcmp " OWN(                                                             \
				 library) " + 8(%rip), %r10\n\tjb 2f\n"                            \
					  "\tmov (%rsp), %r10\n\tsub " OWN(                        \
						  15) "(%rip), %r10\n"                             \
						      "\tcmp " OWN(                                \
							      15) " + 8(%rip), %r10\n\tjb 2f\n"    \
								  "\tlea exports_entries(%rip), "  \
								  "%r10\n\tjmp 1f\n"               \
								  "2:\tlea exports_found(%rip), "  \
								  "%r10\n1:\tmov (%r10, %r11, "    \
								  "8), %r10\n"                     \
								  "\ttest %r10, %r10\n\tjz "       \
								  "exports_unbound\n\tjmp *%r10\n"
#elif defined(__aarch64__) /* likewise x9 to x11, x16, x17 */
#define JUMP(library, number) "\thint #34\n\tmov w17, #" #number "\n\tb exports_way_" #library "\n"
#define GO(library)                                                                                \
	"\tadrp x9, exports_own\n\tadd x9, x9, #:lo12:exports_own\n"                               \
	"\tldp x10, x11, [x9, #16 * " #library "]\n\tsub x10, x30, x10\n"                          \
	"\tadrp x16, exports_found\n\tadd x16, x16, #:lo12:exports_found\n"                        \
	"\tcmp x10, x11\n\tb.lo 1f\n"                                                              \
	"\tldp x10, x11, [x9, #16 * 15]\n\tsub x10, x30, x10\n\tcmp x10, x11\n\tb.lo 1f\n"         \
	"\tadrp x16, exports_entries\n\tadd x16, x16, #:lo12:exports_entries\n"                    \
	"1:\tldr x16, [x16, x17, lsl #3]\n\tcbz x16, exports_unbound\n\tbr x16\n"
#else
#error "no thunks for this architecture"
#endif

#define THUNK(name, library, number)                                                               \
	__asm__(".pushsection .text.exports_thunks,\"ax\",%progbits\n"                             \
		"\t.balign 16\n\t.globl " #name "\n\t.type " #name ", %function\n" #name           \
		":\n" JUMP(library, number) "\t.size " #name ", . - " #name "\n\t.popsection\n")

#define WAY(library)                                                                               \
	__asm__(".pushsection .text,\"ax\",%progbits\nexports_way_" #library                       \
		":\n\t.cfi_startproc\n" GO(library) "\t.cfi_endproc\n\t.popsection\n")

__asm__(".pushsection .text.exports_thunks,\"ax\",%progbits\n\t.balign 32\n"
	"\t.globl exports_thunks\n\t.hidden "
	"exports_thunks\nexports_thunks:\n\t.cfi_startproc\n\t.popsection\n");
#define THUNKS_END                                                                                 \
	__asm__(".pushsection "                                                                    \
		".text.exports_thunks,\"ax\",%progbits\n\t.cfi_endproc\n\t.popsection\n")

#endif
