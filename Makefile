# SPDX-License-Identifier: MIT
#
# Peplos: `make help` lists the targets.
#
# This file knows the set-up, the two ways to run, and how tests are counted.
# Everything else comes from fragments: a Makefile.inc in a folder (up to three
# levels down) is included here, with paths relative to this folder. A fragment
#   - writes its outputs under build/ and its targets with `## help text`;
#   - adds its test targets to TESTS (each prints `PASS name` or
#     `FAIL name: why` lines and ends non-zero on a failure), its checks of
#     sources to LINTS, its formatters to FORMATS, its figures to BENCHES;
#   - gives an app its defaults with ARGS_<app> and DATA_<app>;
#   - uses PYTHON, NEWLIB_INC, NEWLIB_LIB (from build/env.mk, which the set-up
#     writes), and QEMU and TRAIN_PYTHON, which it names as prerequisites where
#     it needs them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

APP ?= demo
PLATFORM ?= rtl
CONFIG ?= sim16
QEMU := build/qemu/qemu-system-riscv32
TESTS :=
LINTS :=
FORMATS :=
BENCHES :=

# Goals that must work on a bare machine do not touch the set-up.
BARE_GOALS := help doctor deps clean list
ifneq ($(filter-out $(BARE_GOALS),$(MAKECMDGOALS)),)
ifneq ($(words $(CURDIR)),1)
$(error this folder is '$(CURDIR)': make cannot work in a path with a space; clone into one without)
endif
include build/env.mk
endif

ifneq ($(filter wave,$(MAKECMDGOALS)),)
ifeq ($(and $(FROM),$(TO)),)
$(error make wave needs FROM=cycle and TO=cycle, for instance FROM=5440000 TO=5442000; `make run` prints the cycles of the call that its timeline shows)
endif
ifneq ($(or $(CONFIG),none),sim16)
$(error CONFIG=$(CONFIG): make wave has the RTL of sim16 only)
endif
ifneq ($(PLATFORM),rtl)
$(error PLATFORM=$(PLATFORM): make wave is for rtl)
endif
endif

include $(sort $(filter-out build/%,$(wildcard */Makefile.inc */*/Makefile.inc */*/*/Makefile.inc)))

ARGS ?= $(ARGS_$(APP))
DATA ?= $(DATA_$(APP))
# The kernel call that the timeline shows (1 = first, -1 = last); empty: the whole run.
CALL ?= $(CALL_$(APP))

# What to run, said before anything is built.
ifneq ($(filter run gdb wave,$(MAKECMDGOALS)),)
ifeq ($(filter 1,$(words $(APP))),)
$(error APP='$(APP)': one app is needed; make list describes them)
else ifeq ($(or $(findstring /,$(APP)),$(filter $(APP),$(FW_APPS))),)
$(error APP=$(APP): there is no such app; the apps are $(FW_APPS). `make list` describes them)
endif
ifneq ($(words $(PLATFORM)),1)
$(error PLATFORM='$(PLATFORM)': one is needed, rtl (the Verilated RTL) or func (the functional model))
else ifeq ($(or $(findstring /,$(PLATFORM)),$(filter $(PLATFORM),rtl rtl_checked rtl_wave func)),)
$(error PLATFORM=$(PLATFORM): rtl (the Verilated RTL), func (the functional model), or the path of a model library with a / in it)
else ifeq ($(and $(findstring /,$(PLATFORM)),$(filter-out build/lib/%,$(PLATFORM)),$(if $(wildcard $(PLATFORM)),,none)),none)
$(error PLATFORM=$(PLATFORM): there is no such model library; rtl and func are built when asked for)
endif
# The machine's clock is 125 MHz; a configuration with another is for synthesis.
QEMU_CONFIGS := $(sort $(patsubst hw/config/%.toml,%,$(shell grep -l '^cycle_hz = 125000000$$' hw/config/*.toml)))
ifneq ($(filter $(words $(CONFIG)),1)$(words $(filter $(CONFIG),$(QEMU_CONFIGS))),11)
$(error CONFIG=$(CONFIG): the configurations that run in QEMU are $(QEMU_CONFIGS))
endif
ifneq ($(words $(DATA)),$(words $(firstword $(DATA))))
$(error DATA='$(DATA)': make cannot use a file name with a space in it; tools/run/peplos-run --data can)
else ifeq ($(or $(filter build/data/%,$(DATA)),$(wildcard $(DATA)),$(filter-out $(words $(DATA)),1)),)
$(error DATA=$(DATA): there is no such file; tools/data/pack.py makes data files)
endif
endif

SETUP_INPUTS := $(addprefix tools/setup/,env.sh lib.sh packages.sh packages.txt venv.sh requirements.txt newlib.sh)
QEMU_INPUTS := tools/setup/qemu.sh tools/setup/qemu-source.sh \
  $(wildcard qemu-device/*.c qemu-device/*.h qemu-device/Kconfig qemu-device/meson.build \
    qemu-device/trace-events qemu-device/tpu.mak qemu-device/hook.sh) \
  $(wildcard hw/model/tpu_model.h hw/regs/gen/tpu_memmap.h hw/regs/gen/tpu_regs.h)

.PHONY: help deps doctor clean run gdb wave list test lint format bench

help: ## list the targets
	@tools/setup/help.sh $(filter-out build/%,$(MAKEFILE_LIST))

deps: ## install packages, build QEMU and newlib (asks for nothing; quick when all is there)
	@tools/setup/deps.sh

doctor: ## say what is there and what is missing; installs nothing
	@tools/setup/doctor.sh

build/env.mk: $(SETUP_INPUTS)
	@tools/setup/env.sh

# For the few targets that train or read picture files. A script, and not a
# link to the interpreter, so that it has the time at which it was made.
TRAIN_PYTHON := build/train-python
$(TRAIN_PYTHON): tools/setup/requirements-train.txt tools/setup/venv.sh | build/env.mk
	@set -o pipefail; folder=$$(tools/setup/venv.sh train | tail -n 1) && \
	  printf '#!/bin/sh\nexec %s/bin/python "$$@"\n' $$folder >$@ && chmod +x $@

$(QEMU): $(QEMU_INPUTS) | build/env.mk
	@tools/setup/qemu.sh

# The RTL is one library a configuration, the functional model one for all.
RTL_DIR := build/lib$(if $(filter-out sim16,$(CONFIG)),/$(CONFIG))
LIBRARY := $(if $(findstring /,$(PLATFORM)),$(PLATFORM),$(if $(filter rtl%,$(PLATFORM)),$(RTL_DIR),build/lib)/libtpu_$(PLATFORM).so)
# Where a run's files go. One run at a time writes there: a second one waits, and says so; the lock ends with the recipe.
RUN_OUT := build/run/$(notdir $(APP))-$(patsubst libtpu_%,%,$(basename $(notdir $(PLATFORM))))$(if $(filter-out sim16,$(CONFIG)),-$(CONFIG))
RUN = out=$(1) && mkdir -p $$out && exec 9>$$out/lock && \
  { flock -n 9 || { echo "waiting for another run, which writes to $$out, to end" >&2 && flock 9; }; } && rm -f $$out/trace.bin && \
  tools/run/peplos-run --platform $(PLATFORM) --config $(CONFIG) --out $$out $(if $(DATA),--data $(DATA)) $(RUNFLAGS)
RUN_NEEDS := $(QEMU) build/firmware/$(APP).elf $(DATA)

run: $(RUN_NEEDS) $(LIBRARY) $(TRACE_TOOL) ## run APP on PLATFORM=rtl|func (ARGS='..' DATA=file CONFIG=sim16)
	@$(call RUN,$(RUN_OUT)) $(APP) -- $(ARGS) && { test ! -s $$out/trace.bin || { \
	  $(TRACE_TOOL) $$out/trace.bin --elf build/firmware/$(APP).elf $(if $(CALL),--call $(CALL)) --svg $$out/timeline.svg \
	    --title '$(APP) on $(PLATFORM), $(CONFIG)$(if $(CALL),: $(if $(filter -1,$(CALL)),last kernel call,kernel call $(CALL)))' && \
	  echo "timeline: $$out/timeline.svg"; }; }

gdb: $(RUN_NEEDS) $(LIBRARY) ## run APP with gdb attached, stopped at its first instruction
	@$(call RUN,$(RUN_OUT)) --gdb $(APP) -- $(ARGS)

wave: $(RUN_NEEDS) $(RTL_DIR)/libtpu_rtl_wave.so ## run APP on the RTL and write waveforms of cycles FROM to TO
	@$(call RUN,$(RUN_OUT)_wave) --wave $(FROM) $(TO) $(APP) -- $(ARGS)

list: ## list the apps that `make run` can run
	@tools/run/peplos-list

test: ## run every test; ends with `N passed, N failed` (TESTS='a b' for some)
	@tools/run/peplos-test --make '$(MAKE)' $(sort $(TESTS))

lint: $(LINTS) ## check sources: style, lint, generated files

format: $(FORMATS) ## rewrite sources in the project's style

bench: $(BENCHES) ## measure the figures of docs/timings.md

clean: ## remove build/ (the cache of QEMU and newlib stays; its path is in `make doctor`)
	rm -rf build
