# SPDX-License-Identifier: GPL-2.0-or-later
# Device selection for a trimmed build (--without-default-devices
# --with-devices-riscv32=tpu): the one machine, and what it selects.
CONFIG_TPU_SOC=y
# Data files and the argument page come in with -device loader.
CONFIG_GENERIC_LOADER=y
