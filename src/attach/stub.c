/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that is put into a process (parts.h). The thread that was stopped makes another, says that it is
 * done by a system call that does nothing, and goes back by itself if nobody is there to have it go on; the other loads two
 * libraries and calls a function of the second.
 */
#include <stddef.h>

#include "attach/parts.h"

#define STRINGS(x) #x
#define NUMBER(x)  STRINGS(x)

/* What the code below says, which cannot use the structure. */
#define STATE   0
#define CREATED 4
#define STATUS  8
#define CREATE  16
#define OPEN    24
#define SYMBOL  32
#define WHY     40
#define THREAD  48
#define STUB    56
#define BEGIN   64
#define KYMO    96
#define LIBRARY 352
#define ERROR   608
#define LAST    1111 /* of the error's text */
#define BACK    1112

#define CHECK(member, offset) _Static_assert(offsetof(struct attach_page, member) == (offset), "")
CHECK(state, STATE);
CHECK(created, CREATED);
CHECK(status, STATUS);
CHECK(pthread_create, CREATE);
CHECK(dlopen, OPEN);
CHECK(dlsym, SYMBOL);
CHECK(dlerror, WHY);
CHECK(thread, THREAD);
CHECK(stub, STUB);
CHECK(begin, BEGIN);
CHECK(kymo, KYMO);
CHECK(library, LIBRARY);
CHECK(error, ERROR);
CHECK(back, BACK);
_Static_assert(ERROR + sizeof(((struct attach_page *)0)->error) == LAST + 1, "");
_Static_assert(ATTACH_RUNS == 1 && ATTACH_BEGUN == 2 && ATTACH_FAILED == 3, "");
_Static_assert(STUB_CALL == 39 && STUB_SIGN == 0x4b594d4f, "");

__asm__(".pushsection .rodata,\"a\",%progbits\n"
	".globl stub_code, stub_thread, stub_end\n"
	".hidden stub_code, stub_thread, stub_end\n"
	"stub_code:\n"
	"\tlea " NUMBER(
		THREAD) "(%rbx), %rdi\n"
			"\txor %esi, %esi\n"
			"\tmov " NUMBER(
				STUB) "(%rbx), %rdx\n"
				      "\tmov %rbx, %rcx\n"
				      "\tcall *" NUMBER(
					      CREATE) "(%rbx)\n"
						      "\tmov "
						      "%eax, " NUMBER(
							      CREATED) "(%rbx)\n"
								       "\tmov $0x4b594d4f, %edi\n"
								       "\tmov $39, %eax\n"
								       "\tsyscall\n"
								       "\tmov " NUMBER(
									       BACK) "(%rbx), "
										     "%rsp\n"
										     "\tret\n"
										     /* void *(*)(void *page) */
										     "stub_thread:"
										     "\n"
										     "\tpush %rbx\n"
										     "\tmov %rdi, "
										     "%rbx\n"
										     "\tmovl "
										     "$1, " NUMBER(STATE) "(%rbx)\n"
													  "\tlea " NUMBER(KYMO) "(%rbx), %rdi\n"
																"\tmov $2, %esi\n" /* RTLD_NOW */
																"\tcall *" NUMBER(OPEN) "(%rbx)\n"
																			"\ttest %rax, %rax\n"
																			"\tjz 1f\n"
																			"\tlea " NUMBER(LIBRARY) "(%rbx), %rdi\n"
																						 "\tmov $2, %esi\n"
																						 "\tcall *" NUMBER(OPEN) "(%rbx)\n"
																									 "\ttest %rax, %rax\n"
																									 "\tjz 1f\n"
																									 "\tmov %rax, %rdi\n"
																									 "\tlea " NUMBER(BEGIN) "(%rbx), %rsi\n"
																												"\tcall *" NUMBER(SYMBOL) "(%rbx)\n"
																															  "\ttest %rax, %rax\n"
																															  "\tjz 1f\n"
																															  "\tmov %rbx, %rdi\n"
																															  "\tcall *%rax\n"
																															  "\tmov %eax, " NUMBER(
																																  STATUS) "(%rbx)\n"
																																	  "\tmovl $2, " NUMBER(
																																		  STATE) "(%rbx)\n"
																																			 "\tjmp 3f\n"
																																			 "1:\tcall *" NUMBER(
																																				 WHY) "(%rbx)\n"
																																				      "\ttest %rax, %rax\n"
																																				      "\tjz 2f\n"
																																				      "\tmov %rax, %rsi\n"
																																				      "\tlea " NUMBER(
																																					      ERROR) "(%rbx), %rdi\n"
																																						     "\tlea " NUMBER(
																																							     LAST) "(%rbx), %rdx\n"
																																								   "4:\tmovb (%rsi), %al\n"
																																								   "\tmovb %al, (%rdi)\n"
																																								   "\tinc %rsi\n"
																																								   "\tinc %rdi\n"
																																								   "\ttest %al, %al\n"
																																								   "\tjz 2f\n"
																																								   "\tcmp %rdx, %rdi\n"
																																								   "\tjb 4b\n"
																																								   "2:\tmovl $3, " NUMBER(
																																									   STATE) "(%rbx)\n"
																																										  "3:\txor %eax, %eax\n"
																																										  "\tpop %rbx\n"
																																										  "\tret\n"
																																										  "stub_end:\n"
																																										  ".popsection\n");
