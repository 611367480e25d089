# SPDX-License-Identifier: MIT
# Sources of the functional model's arithmetic and the compiler flags they need. Include with
# KERNELS_DIR set to this folder. NUM_SRCS is for tests and tools that want the numbers alone: num_ref one
# value at a time, num.c as loops.
#
# -ffp-contract=off   a multiply and an add round twice (gcc's default would fuse them)
# -fno-math-errno, -fno-trapping-math
#                     let the vectoriser turn conditions into selects; no effect on values
# -O3                 the loops rely on the vectoriser
#
# No -march: every hot function is compiled for plain x86-64, AVX2 and AVX-512 and picks its
# version when the library is loaded. An AVX2 machine needs no other build. NUM_NO_CLONES turns
# that off (then -march decides), NUM_PORTABLE leaves the host's floating-point mode alone and
# flushes in code, which is what other hosts do.
KERNELS_CFLAGS := -std=c11 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math \
                  -Wall -Wextra -Werror -I$(KERNELS_DIR)/../../eup/gen
KERNELS_SRCS := $(addprefix $(KERNELS_DIR)/,mxu.c vpu.c vpu_ops.c vpu_cross.c vpu_time.c)
NUM_SRCS := $(addprefix $(KERNELS_DIR)/,num.c num_ref.c)
