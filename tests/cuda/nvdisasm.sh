#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In place of NVIDIA's nvdisasm (and cuobjdump): prints, as it does, the code of the fake's only binary with lines.
[ "$1" = "-c" ] || [ "$1" = "-sass" ] || exit 1
grep -aq "a binary.*debug_line" "$2" || exit 1
if [ "$1" = "-sass" ]; then
	printf '\n\tcode for sm_90\n\t\tFunction : _Z3hotPfi\n'
	printf '        /*0000*/                   LDC R1, c[0x0][0x28] ;    /* 0x00000a00ff017b82 */\n'
	printf '                                                             /* 0x000fe20000000800 */\n'
	printf '        /*0010*/                   S2R R0, SR_TID.X ;        /* 0x0000000000007919 */\n'
	printf '                                                             /* 0x000e2e0000002100 */\n'
	printf '        /*0020*/              @!P0 LDG.E R2, desc[UR4][R2.64] ; /* 0x0000000402028981 */\n'
	exit 0
fi
cat <<'END'
	.headerflags	@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
	.elftype	@"ET_EXEC"


//--------------------- .text._Z5otherPf          --------------------------
	.section	.text._Z5otherPf,"ax",@progbits
	.sectioninfo	@"SHI_REGISTERS=8"
	.align	128
        .global         _Z5otherPf
        .type           _Z5otherPf,@function
        .size           _Z5otherPf,(.L_x_9 - _Z5otherPf)
        .other          _Z5otherPf,@"STO_CUDA_ENTRY STV_DEFAULT"
_Z5otherPf:
.text._Z5otherPf:
        /*0000*/                   NOP ;
        /*0010*/                   EXIT ;
        /*0020*/                   WRONG ;
.L_x_9:


//--------------------- .text._Z3hotPfi           --------------------------
	.section	.text._Z3hotPfi,"ax",@progbits
	.align	128
_Z3hotPfi:
.text._Z3hotPfi:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R0, SR_TID.X ;
	//## File "/src/hot.cu", line 102
        /*0020*/              @!P0 LDG.E R2, desc[UR4][R2.64] ;
        /*0028*/                   FFMA R2, R2, R2, 1 ;
.L_x_0:
        /*0040*/                   BRA `(.L_x_0);


//--------------------- .text._Z3farPf            --------------------------
_Z3farPf:
.text._Z3farPf:
        /*0000*/                   LDG.E.64 R4, desc[UR4][R2.64] ;
        /*0010*/                   LDS R8, [R9] ;
        /*0020*/                   IADD3 R20, R20, 0x1, RZ ;
        /*0030*/                   IADD3 R21, R21, 0x1, RZ ;
        /*0040*/                   IADD3 R22, R22, 0x1, RZ ;
        /*0050*/                   IADD3 R23, R23, 0x1, RZ ;
        /*0060*/                   IADD3 R24, R24, 0x1, RZ ;
        /*0070*/                   MOV R8, UR4 ;
        /*0080*/                   IADD3 R25, R25, 0x1, RZ ;
        /*0090*/                   IADD3 R26, R26, 0x1, RZ ;
        /*00a0*/                   IADD3 R27, R27, 0x1, RZ ;
        /*00b0*/                   FADD R6, R5, R8 ;
        /*00c0*/                   LDG.E.128 R12, desc[UR4][R2.64] ;
        /*00d0*/                   STG.E desc[UR4][R2.64], R6 ;
        /*00e0*/              @!P0 EXIT ;
        /*00f0*/                   STG.E desc[UR4][R2.64], R15 ;
END
