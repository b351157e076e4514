/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose first instructions are of every form that is moved, or is not: f(a, b) returns a number that tells what it did. Those
 * named form_* can be patched; bad_REASON_* cannot, for that reason (dashes are underscores).
 */
	.text

	.macro function name
	.globl \name
	.type \name, @function
	.p2align 4, 0x90
\name:
	.cfi_startproc
	.endm

	.macro done name
	.cfi_endproc
	.size \name, . - \name
	.endm

	.macro give
	lea (%rax, %rdi, 2), %rax
	add %rsi, %rax
	ret
	.endm

	/* ---- operands relative to rip ---- */
	function form_lea
	lea word_a(%rip), %rax
	mov (%rax), %rax
	give
	done form_lea

	function form_load
	mov word_a(%rip), %rax
	give
	done form_load

	function form_compare
	cmpl $0x12345, word_b(%rip)
	setl %al
	movzbl %al, %eax
	give
	done form_compare

	function form_store
	movq $0x1234567, word_c(%rip)
	mov word_c(%rip), %rax
	give
	done form_store

	function form_store_byte
	movb $7, word_c(%rip)
	mov word_c(%rip), %rax
	give
	done form_store_byte

	function form_add
	add %rdi, word_c(%rip)
	mov word_c(%rip), %rax
	give
	done form_add

	function form_lock
	lock incl word_c(%rip)
	mov word_c(%rip), %eax
	give
	done form_lock

	function form_exchange
	mov $3, %al
	xchg %al, word_c(%rip)
	movzbl %al, %eax
	give
	done form_exchange

	function form_select
	xor %eax, %eax
	cmovz word_a(%rip), %rax
	give
	done form_select

	function form_sse
	movsd word_a(%rip), %xmm1
	movq %xmm1, %rax
	give
	done form_sse

	function form_sse_immediate
	pshufd $0x1b, vector(%rip), %xmm1
	movq %xmm1, %rax
	give
	done form_sse_immediate

	function form_avx
	vmovdqu vector(%rip), %ymm1
	vmovq %xmm1, %rax
	vzeroupper
	give
	done form_avx

	function form_avx_immediate
	vpshufd $0x1b, vector(%rip), %xmm1
	vmovq %xmm1, %rax
	give
	done form_avx_immediate

	function form_high_register
	mov word_a(%rip), %r11
	mov %r11, %rax
	give
	done form_high_register

	function form_push_operand
	push word_a(%rip)
	.cfi_adjust_cfa_offset 8
	pop %rax
	.cfi_adjust_cfa_offset -8
	give
	done form_push_operand

	/* ---- branches ---- */
	function form_branch_short
	test %rdi, %rdi
	je 1f
	mov $11, %eax
	give
1:	mov $22, %eax
	give
	done form_branch_short

	function form_branch_near
	cmp $5, %rdi
	.byte 0x0f, 0x87
	.long 1f - . - 4
	mov $33, %eax
	give
	.skip 200, 0x90
1:	mov $44, %eax
	give
	done form_branch_near

	function form_two_branches
	test %edi, %edi
	js 1f
	je 2f
	mov $1, %eax
	give
1:	mov $2, %eax
	give
2:	mov $3, %eax
	give
	done form_two_branches

	function form_count
	mov %rdi, %rcx
	jrcxz 1f
	mov $55, %eax
	give
1:	mov $66, %eax
	give
	done form_count

	function form_count_narrow
	mov %edi, %ecx
	jecxz 1f
	mov $55, %eax
	give
1:	mov $66, %eax
	give
	done form_count_narrow

	function form_loop
	mov %edi, %ecx
	loop 1f
	mov $77, %eax
	give
1:	lea 88(%rcx), %rax
	give
	done form_loop

	function form_loop_equal
	mov %edi, %ecx
	loope 1f
	mov $77, %eax
	give
1:	mov $88, %eax
	give
	done form_loop_equal

	function form_jump_short
	jmp 1f
	ud2
	nop
1:	mov $99, %eax
	give
	done form_jump_short

	function form_jump_near
	jmp form_load
	done form_jump_near

	function form_jump_memory
	jmp *pointer(%rip)
	done form_jump_memory

	function form_jump_register
	mov pointer(%rip), %rax
	jmp *%rax
	done form_jump_register

	function form_table
	and $3, %edi
	lea table(%rip), %rdx
	movslq (%rdx, %rdi, 4), %rax
	add %rdx, %rax
	notrack jmp *%rax
1:	mov $101, %eax
	ret
2:	mov $102, %eax
	ret
3:	mov $103, %eax
	ret
	done form_table
	.pushsection .rodata
	.p2align 2
table:	.long 1b - table, 2b - table, 3b - table, 1b - table
	.popsection

	/* ---- calls ---- */
	function form_call
	call form_load
	give
	done form_call

	function form_call_framed
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call form_load
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	give
	done form_call_framed

	function form_call_memory
	push %rbx
	.cfi_adjust_cfa_offset 8
	call *pointer(%rip)
	pop %rbx
	.cfi_adjust_cfa_offset -8
	give
	done form_call_memory

	function form_call_register
	mov pointer(%rip), %rdx
	call *%rdx
	give
	done form_call_register

	function form_call_last
	mov %rdx, %r8
	call *%r8
	give
	done form_call_last

	function form_call_returns
	call return_address
	lea form_call_returns(%rip), %rdx
	sub %rdx, %rax
	give
	done form_call_returns

	function return_address
	mov (%rsp), %rax
	ret
	done return_address

	/* ---- beginnings ---- */
	function form_endbr
	endbr64
	push %rbp
	.cfi_adjust_cfa_offset 8
	mov %rsp, %rbp
	mov $5, %eax
	pop %rbp
	.cfi_adjust_cfa_offset -8
	give
	done form_endbr

	function form_pushes
	push %r15
	push %r14
	push %rbx
	mov %rdi, %rbx
	mov %rbx, %rax
	pop %rbx
	pop %r14
	pop %r15
	give
	done form_pushes

	function form_patchable
	nop
	nop
	nop
	nop
	nop
	mov $6, %eax
	give
	done form_patchable

	function form_sled
	.byte 0xeb, 0x09
	.byte 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00
	mov $7, %eax
	give
	done form_sled

	function form_padded
	mov %edi, %eax
	ret
	done form_padded
	.skip 8, 0xcc

	function form_thread
	mov %fs:0, %rax
	sub %fs:0, %rax
	give
	done form_thread

	/* ---- not these ---- */
	function bad_branch_inside_own
	mov %rdi, %rcx
1:	dec %rcx
	jg 1b
	mov %rcx, %rax
	ret
	done bad_branch_inside_own

	function bad_branch_inside_other
	push %rbx
	push %rbp
middle:	mov %rdi, %rax
	pop %rbp
	pop %rbx
	ret
	done bad_branch_inside_other

	function form_into_other
	push %rbx
	push %rbx
	.skip 130, 0x90
	jmp middle
	done form_into_other

	function bad_loop_at_entry_
	dec %rdi
	jg bad_loop_at_entry_
	mov %rdi, %rax
	ret
	done bad_loop_at_entry_

	function bad_call_inside_
	push %rax
	call *%rsi
	pop %rdx
	ret
	done bad_call_inside_

	function bad_short_
	mov %edi, %eax
	ret
	done bad_short_
	.byte 0xb8
	.long 0

	function bad_entry_inside_
	push %rax
	.globl inner
	.type inner, @function
inner:	pop %rax
	mov %rdi, %rax
	ret
	.size inner, . - inner
	done bad_entry_inside_

	function bad_table_inside_
	push %rbx
	pop %rbx
1:	lea bad_table(%rip), %rdx
	movslq (%rdx, %rdi, 4), %rax
	add %rdx, %rax
	jmp *%rax
2:	ret
	done bad_table_inside_
	.pushsection .rodata
	.p2align 2
bad_table: .long 2b - bad_table, 1b - bad_table
	.popsection

	function bad_pointer_inside_
	push %rbx
	pop %rbx
1:	mov %rdi, %rax
	add %rax, %rax
	ret
	done bad_pointer_inside_
	.pushsection .data.rel.local, "aw"
	.p2align 3
	.quad 1b
	.popsection

	function bad_unmovable_
	xbegin 1f
	xend
1:	ret
	done bad_unmovable_

	function bad_fragment_
	.cfi_def_cfa_offset 32
	mov $1, %eax
	mov $2, %eax
	ret
	done bad_fragment_

	.data
	.p2align 5
vector:	.quad 0x1111111122222222, 0x3333333344444444, 0x55, 0x66
word_a:	.quad 0x1000
word_b:	.quad 0x100
	.globl word_c
word_c:	.quad 0
pointer: .quad form_load
	.section .note.GNU-stack, "", @progbits
