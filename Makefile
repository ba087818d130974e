# resource-tracker. The targets people use:
#
#   make            build/resource-tracker
#   make demo       build it, track a short real workload, show what it saw
#   make test       all tests
#   make check      layers, sizes, formatting, static analysis, both compilers
#   make docs       write the man page, completions and tables anew from the code
#   make picture    take the README's picture of a report anew
#   make golden     write the expected outputs anew; read the diff like code
#   make fuzz       fuzz every parser for FUZZ_SECONDS each
#   make bench      measure ours beside its peers on this machine, for docs/benchmarks.md (40 minutes; QUICK=1: ten)
#   make bench-gpu  our GPU figures beside nvidia-smi's (needs gcc, make, python3 and an NVIDIA GPU)
#   make install    into $(DESTDIR)$(PREFIX)
#
# Variants: make BUILD=asan|tsan|release. Compiler: make CC=clang. Whole commands: make V=1.

BUILD ?= default
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 30
CC = gcc

WARNINGS = -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
# clang has it on some machines only.
STACK_CLASH := $(shell echo | $(CC) -Werror -fstack-clash-protection -x c -c - -o /dev/null \
  2>/dev/null && echo -fstack-clash-protection)
HARDENING = -fPIE -fstack-protector-strong $(STACK_CLASH)
HARDENING_LINK = -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack

ifeq ($(BUILD),default)
  OUT = build
  OPTIMISE = -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
else ifeq ($(BUILD),release)
  OUT = build/release
  # Nobody unwinds our stack; the tables for it are a tenth of the binary and of its resident pages.
  OPTIMISE = -O2 -fno-asynchronous-unwind-tables -DNDEBUG -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -flto -ffunction-sections -fdata-sections
  LINK = -flto -Wl,--gc-sections -s
else ifeq ($(BUILD),asan)
  OUT = build/asan
  OPTIMISE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
  LINK = -fsanitize=address,undefined
else ifeq ($(BUILD),tsan)
  OUT = build/tsan
  OPTIMISE = -O1 -g -fsanitize=thread -fno-omit-frame-pointer
  LINK = -fsanitize=thread
else
  $(error BUILD=$(BUILD) is not one of default, release, asan, tsan)
endif

CFLAGS ?=
say = $(if $(V),,@echo "  $(1) $@";)
CPPFLAGS += -D_GNU_SOURCE -Isrc
ALL_CFLAGS = -std=gnu11 $(OPTIMISE) $(SMALL) $(WARNINGS) $(HARDENING) $(CFLAGS)
ALL_LDFLAGS = $(HARDENING_LINK) $(LINK) $(LDFLAGS)
LDLIBS = -ldl -pthread
# What asking clouds and streaming need. libcurl is not among it: it is loaded when it is used.
NET_NAMES = jansson deflate sodium
NET_LIBS = -Wl,-Bstatic $(NET_NAMES:%=-l%) -Wl,-Bdynamic
NET_SOURCES = $(wildcard src/net/*.c src/discover/cloud*.c src/sink/stream.c)
# The header of each, and something that is in the library itself.
net_jansson = jansson.h (json_object()!=0)
net_deflate = libdeflate.h (libdeflate_alloc_compressor(1)!=0)
net_sodium = sodium.h (sodium_init()!=0)
# $(call net_try,NAMES,NAMES): with the headers of the former and the libraries of the latter.
net_try = printf '$(foreach name,$(1),\043include <$(firstword $(net_$(name)))>\n)int main(void){return \
  0$(foreach name,$(2),+$(lastword $(net_$(name))));}\n' | $(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) \
  -x c -o /dev/null - $(LDLIBS) -Wl,-Bstatic $(patsubst %,-l%,$(2)) -Wl,-Bdynamic >/dev/null 2>&1
net_missing = $(shell $(call net_try,$(1),$(1)) || \
  { $(call net_try,$(1),) && echo lib$(1).a || echo $(firstword $(net_$(1))); })
# Where they are missing, the rest is built without.
ifndef NET
  NET := $(shell $(call net_try,$(NET_NAMES),$(NET_NAMES)) && echo yes || echo no)
  ifeq ($(NET),no)
    NET_MISSING := $(strip $(foreach name,$(NET_NAMES),$(call net_missing,$(name))))
  endif
endif

SOURCES = $(wildcard src/*.c src/*/*.c)
ifeq ($(NET),yes)
  CPPFLAGS += -DTRACKER_NET
  LDLIBS += $(NET_LIBS)
else
  SOURCES := $(filter-out $(NET_SOURCES),$(SOURCES))
endif
# The report's page goes into the binary: deflated where there is something to inflate it.
PAGE = $(OUT)/report_page.c
PAGE_FORM = $(if $(filter yes,$(NET)),gzip,plain)
OBJECTS = $(SOURCES:%.c=$(OUT)/%.o) $(PAGE:%.c=%.o)
# Everything but main, for tests and tools.
LIBRARY = $(filter-out $(OUT)/src/main.o,$(OBJECTS))
UNIT_TESTS = $(patsubst tests/unit/%.c,$(OUT)/unit/%,$(wildcard tests/unit/test_*.c))
UNIT_SUPPORT = $(patsubst %.c,$(OUT)/%.o,$(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c)))
FUZZERS = $(patsubst fuzz/%.c,build/fuzz/%,$(wildcard fuzz/fuzz_*.c))
FAKES = $(patsubst tests/fakes/%.c,build/fakes/%.so,$(wildcard tests/fakes/*.c))
ifneq ($(NET),yes)
  NET_PARTS = $(basename $(notdir $(NET_SOURCES))) s3_uri bytes gunzip reader
  UNIT_TESTS := $(filter-out $(NET_PARTS:%=$(OUT)/unit/test_%),$(UNIT_TESTS))
  FUZZERS := $(filter-out $(NET_PARTS:%=build/fuzz/fuzz_%),$(FUZZERS))
endif
GENERATED = docs/resource-tracker.1 docs/options.md docs/metrics.md \
  completions/resource-tracker.bash completions/_resource-tracker completions/resource-tracker.fish

.PHONY: all demo test check docs picture golden fuzz bench bench-gpu install clean setup-build setup-test setup-check setup-bench \
  unit fuzzers fakes
.DELETE_ON_ERROR:
.SECONDARY:

all: setup-build
	@$(MAKE) --no-print-directory $(OUT)/resource-tracker

# What a target needs from the system is installed on the way; silent when all is there.
setup-build setup-test setup-check setup-bench: setup-%:
	@tools/setup $*

$(OUT)/resource-tracker: $(OBJECTS)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)
	$(if $(NET_MISSING),@echo "  without streaming and asking clouds: $(NET_MISSING) missing")

# What was built otherwise is built anew.
$(OBJECTS): $(OUT)/.net-$(NET)
$(OUT)/.net-$(NET):
	@mkdir -p $(@D)
	@rm -f $(OUT)/.net-*
	@touch $@

# npm writes the last file when it installs; those of packages keep their old dates.
$(PAGE): tools/build-report $(wildcard report/*.css report/*.js) report/package-lock.json \
  $(wildcard report/node_modules/.package-lock.json) $(OUT)/.net-$(NET)
	$(call say,PAGE)tools/build-report $(PAGE_FORM) $@

$(PAGE:%.c=%.o): $(PAGE)
	$(call say,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

# Of a release only what every sample runs through is compiled for speed: of the rest, small beats fast.
HOT = $(patsubst %,src/%.c,app/tracker base/buf base/file base/fmt base/scan collect/collectors collect/cpu \
  collect/disk collect/disk_space collect/ledger collect/memory collect/mounts collect/network collect/pid_file \
  collect/process collect/pss collect/self collect/tree collect/tree_cpu collect/tree_find encode/csv encode/json \
  model/sample sink/output sink/sinks sink/writer)
ifeq ($(BUILD),release)
$(filter-out $(HOT:%.c=$(OUT)/%.o),$(OBJECTS)): SMALL = -Os
endif

$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/unit/%: $(OUT)/tests/unit/%.o $(UNIT_SUPPORT) $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ -lcmocka -lm $(LDLIBS)

$(OUT)/gendocs: $(OUT)/tools/gendocs.o $(LIBRARY)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

# Report pages for the browser tests.
$(OUT)/pages: $(OUT)/tests/browser/pages.o $(LIBRARY)
	$(call say,LINK)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

build/fakes/%.so: tests/fakes/%.c $(wildcard tests/fakes/*.h)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 $(WARNINGS) -fPIC -shared -o $@ $<

# The library once, for all of them.
FUZZ_FLAGS = -std=gnu11 -O1 -g $(WARNINGS) -fno-sanitize-recover=all
FUZZ_LIBRARY = $(patsubst %.c,build/fuzz/%.o,$(filter-out src/main.c,$(SOURCES))) build/fuzz/report_page.o

build/fuzz/report_page.o: $(PAGE)
	@mkdir -p $(@D)
	$(call say,FUZZ)clang $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<

build/fuzz/src/%.o: src/%.c
	@mkdir -p $(@D)
	$(call say,FUZZ)clang $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

build/fuzz/%: fuzz/%.c fuzz/support.h $(FUZZ_LIBRARY)
	$(call say,FUZZ)clang $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined -o $@ $< $(FUZZ_LIBRARY) $(LDLIBS)

unit: $(UNIT_TESTS) $(FAKES)
fuzzers: $(FUZZERS)
fakes: $(FAKES)

demo: all
	@tools/demo $(OUT)/resource-tracker

test: setup-test
	@tools/run-tests

check: setup-check
	@tools/run-checks

docs: setup-build
	@$(MAKE) --no-print-directory $(OUT)/gendocs
	@for file in $(GENERATED); do $(OUT)/gendocs $$file > $$file.new && mv $$file.new $$file; done

picture: setup-test
	@UPDATE_PICTURE=1 tools/run-tests browser

golden: setup-test docs
	@$(MAKE) --no-print-directory unit
	@UPDATE_GOLDEN=1 $(OUT)/unit/test_golden
	@git diff --stat -- tests/golden docs completions

fuzz: setup-test
	@$(MAKE) --no-print-directory fuzzers
	@for fuzzer in $(FUZZERS); do mkdir -p fuzz/corpus/$$(basename $$fuzzer); \
	  $$fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=65536 fuzz/corpus/$$(basename $$fuzzer) || exit 1; done

bench: setup-bench
	@$(MAKE) -s --no-print-directory BUILD=release build/release/resource-tracker
	@bench/run $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

# Installs nothing: a machine with a GPU is often one where nothing can be installed.
bench-gpu:
	@bench/gpu

install: all
	install -D -m 755 $(OUT)/resource-tracker $(DESTDIR)$(PREFIX)/bin/resource-tracker
	install -D -m 644 docs/resource-tracker.1 $(DESTDIR)$(PREFIX)/share/man/man1/resource-tracker.1
	install -D -m 644 completions/resource-tracker.bash \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/resource-tracker
	install -D -m 644 completions/_resource-tracker \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_resource-tracker
	install -D -m 644 completions/resource-tracker.fish \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/resource-tracker.fish

clean:
	rm -rf build

-include $(OBJECTS:.o=.d) $(FUZZ_LIBRARY:.o=.d) $(wildcard $(OUT)/tests/unit/*.d $(OUT)/tools/*.d)
