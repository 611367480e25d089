# SPDX-License-Identifier: MIT
#
# Shared by the Verilator testbenches of this folder. A test's Makefile sets TB (name), TOP (top
# module), SRCS (SystemVerilog), ARGS (arguments of the run), and may set VARIANT (a build name),
# PARAMS (verilator options such as -GDim=8) and CHECKED=1 (assertions, random initial values;
# default) or 0 (the fast flags).

ROOT ?= ../../..
VARIANT ?= default
CHECKED ?= 1
BUILD := $(ROOT)/build/rtl-tests/$(TB)/$(VARIANT)
VERILATOR ?= verilator
CXXSRC ?= tb.cpp

# OPT_FAST matters as much as -O3: its default -Os comes last and wins.
# A test that runs shorter than it builds sets OPT to -O1.
OPT ?= -O3
FAST := -O3 --unroll-count 8 -CFLAGS "$(OPT) -march=native -ffp-contract=off -I$(abspath ../fp)"
MKFL := -MAKEFLAGS "OPT_FAST=$(OPT) OPT_GLOBAL=$(OPT) OPT_SLOW=-O1"
ifeq ($(CHECKED),1)
MODE := --assert --x-assign unique --x-initial unique
else
MODE := --x-assign fast --x-initial fast --noassert
endif

.PHONY: build run clean
build: $(BUILD)/tb

$(BUILD)/tb: $(SRCS) $(CXXSRC) $(wildcard ../fp/*.h) $(DEPS) Makefile ../common.mk
	@mkdir -p $(BUILD)
	@$(VERILATOR) --cc --exe --build --top-module $(TOP) -Wall --Mdir $(BUILD) -o tb \
	  $(FAST) $(MKFL) $(MODE) $(PARAMS) $(SRCS) $(abspath $(CXXSRC)) > $(BUILD)/build.log 2>&1 \
	  || { cat $(BUILD)/build.log; rm -f $@; exit 1; }

run: $(BUILD)/tb
	@$(BUILD)/tb $(ARGS)

clean:
	rm -rf $(ROOT)/build/rtl-tests/$(TB)
