# SPDX-License-Identifier: Apache-2.0
# The daily commands. CMake does the work (CMakePresets.json); this only saves typing.
JOBS ?= $(shell nproc)
DEMO  = build/demo
# Open MPI asks to be told that root (as in a container) and few cores are meant.
MPIRUN = mpirun.openmpi --oversubscribe $(if $(filter 0,$(shell id -u)),--allow-run-as-root)

# $(call build,PRESET)
build = cmake --preset $(1) > /dev/null && cmake --build --preset $(1) -j $(JOBS)
# $(call run_tests,PRESET,OPTIONS): ends with a line that counts them
run_tests = tools/check/ctest-summary.py --test-dir build/$(1) --output-on-failure $(2)

# What has no time in `make check`. What it said last, and when, is in tests/ran.tsv, unless only a part of it ran.
LONG = asan asan-cli tsan clang bare scratch fuzz mutants harm harm-long soak model
again = $(MAKE) --no-print-directory
ran = $(if $(findstring command,$(foreach v,TESTS ONLY TARGETS,$(origin $v))),,python3 -B tools/check/ran.py $@)

.PHONY: all help setup demo check quick $(LONG) $(LONG:%=run-%) bench fmt lint install clean

all:
	@command -v cmake > /dev/null || { echo 'no cmake here: try "make setup"' >&2; exit 1; }
	@$(call build,release)

help:
	@echo 'make            build into build/release'
	@echo 'make setup      install what is missing from the distribution (root or sudo)'
	@echo 'make demo       setup, build, record two bundled programs, make reports, export timelines'
	@echo 'make check      setup, build, run all tests'
	@echo 'make quick      build, run the tests of a minute (tests/quick.list)'
	@echo 'make asan       the same tests with the address and undefined behaviour sanitizers'
	@echo 'make asan-cli   the tests of the command line, of which only kymo itself has these sanitizers: TESTS=REGEX'
	@echo 'make tsan       the unit tests with the thread sanitizer'
	@echo 'make clang      build with clang 19, run the tests that its compiler matters to'
	@echo 'make bare       build without the optional libraries, run the tests of parts'
	@echo 'make scratch    add a field and a kind of record to a copy of the sources, build and record with it'
	@echo 'make fuzz       fuzz what reads bytes for a minute each, with clang and libFuzzer: SECONDS=N TARGETS="raw view"'
	@echo 'make harm       what recordings do to programs and what they miss, as a table: half an hour (SEED=N, ONLY=REGEX)'
	@echo 'make harm-long  the same with 1,000 kills at random moments'
	@echo 'make soak       record at full speed for half an hour and watch the memory of all that takes part'
	@echo 'make mutants    change 100 lines, one at a time, and run the tests that execute it: MUTATE="--quick --seed N --files REGEX"'
	@echo 'make model      search the model of the ring with spin, in worlds that take minutes'
	@echo 'make bench      build, run the benchmarks'
	@echo 'make fmt        format the C sources'
	@echo 'make lint       build, check headers, words, scripts, spelling and format of the sources, look for mistakes in them'
	@echo 'make install    install build/release (DESTDIR=..., PREFIX=...), with debug information if DEBUG=1'
	@echo 'make clean      remove build/'

setup:
	@tools/setup.sh

demo:
	@tools/setup.sh build demo
	@$(MAKE) --no-print-directory all
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@echo && echo 'A program that gives its work to a device with OpenCL:'
	build/release/bin/kymo run -o $(DEMO)/heat.kymo build/release/bin/heat
	build/release/bin/kymo report -o $(DEMO)/heat.html $(DEMO)/heat.kymo
	build/release/bin/kymo export --to perfetto -o $(DEMO)/heat.pftrace $(DEMO)/heat.kymo
	@echo && echo 'A job of two ranks with MPI, OpenMP, OpenCL and ranges of its own:'
	OMP_NUM_THREADS=2 $(MPIRUN) -n 2 build/release/bin/kymo run -o $(DEMO)/drum.kymo build/release/bin/drum.openmpi
	build/release/bin/kymo report -o $(DEMO)/drum.html $(DEMO)/drum.kymo
	build/release/bin/kymo export --to perfetto -o $(DEMO)/drum.pftrace $(DEMO)/drum.kymo
	@echo
	@echo 'traces:    $(DEMO)/heat.kymo $(DEMO)/drum.kymo (look into them with build/release/bin/kymo summary or show)'
	@echo 'timelines: $(DEMO)/heat.pftrace $(DEMO)/drum.pftrace (open them in https://ui.perfetto.dev)'
	@echo 'reports:   $(DEMO)/heat.html $(DEMO)/drum.html (open them in a browser: xdg-open $(DEMO)/drum.html)'

# Ends with tables of what the time went to, and a line that counts the tests.
SHARES = build/ci/shares.tsv
shares = python3 -B tools/check/shares.py
check:
	@mkdir -p build/ci && rm -f $(SHARES)
	@$(shares) step $(SHARES) setup tools/setup.sh
	@$(shares) step $(SHARES) configure cmake --preset ci > /dev/null
	@$(shares) step $(SHARES) build cmake --build --preset ci -j $(JOBS)
	@$(shares) build $(SHARES) build/ci
	@tools/check/ctest-summary.py --shares $(SHARES) --test-dir build/ci --output-on-failure -j $(JOBS)

$(LONG):
	@$(ran) $(again) run-$@

quick:
	@$(call build,ci)
	@$(call run_tests,ci,-j $(JOBS) -R '$(shell tests/base/quick.py)')

# Undefined behaviour ends a program by a signal, which no test takes for an error that it waits for: GCC's libubsan has no
# log_path beside libasan, and a test does not look at what a program that ends well writes to standard error.
UBSAN = UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:abort_on_error=1

# PoCL and LLVM leak at exit: what the tests run under is not what they test. The sanitizer would forbid core files by setrlimit(), which is
# Kymo's here, before it is ready, as UCX's constructor does by sigaction() in each program of MPICH.
run-asan:
	@$(call build,asan)
	@ulimit -c 0; ASAN_OPTIONS=verify_asan_link_order=0:handle_segv=0:handle_abort=0:disable_coredump=0 $(UBSAN) \
		LSAN_OPTIONS=print_suppressions=0:suppressions=$(CURDIR)/tests/support/lsan.supp $(call run_tests,asan,-j $(JOBS) -E '^mpi.mpich$$')

# Programs load ordinary libraries here, so that all that records is tested, and what reads, exports and reports is
# sanitized. What the address sanitizer finds does not always fail a test: whatever it tells is in build/asan-cli/found.
TESTS = ^(cli|golden|sql|otf2|page|diagnose)\.
run-asan-cli:
	@cmake --preset asan > /dev/null && cmake --build --preset asan -j $(JOBS) --target kymo
	@$(call build,asan-cli)
	@rm -rf build/asan-cli/found && mkdir build/asan-cli/found
	@ASAN_OPTIONS=verify_asan_link_order=0:handle_segv=0:handle_abort=0:log_path=$(CURDIR)/build/asan-cli/found/asan \
		$(UBSAN) \
		LSAN_OPTIONS=print_suppressions=0:suppressions=$(CURDIR)/tests/support/lsan.supp \
		$(call run_tests,asan-cli,-j $(JOBS) -R '$(TESTS)'); status=$$?; \
		for f in build/asan-cli/found/*; do test ! -e "$$f" || { cat "$$f"; status=1; }; done; exit $$status

# Only code that is built with the sanitizer can be judged by it, and PoCL is not. Left out: chunks
# that come back through another process (drain), memory use (perfetto), thunks without the
# sanitizer's frames (gen_wrap), and a stress test that takes minutes then (opencl).
run-tsan:
	@$(call build,tsan)
	@TSAN_OPTIONS=die_after_fork=0 $(call run_tests,tsan,-L 'unit|stress' -E 'drain|perfetto|gen_wrap|unit.opencl$$')

# A second compiler, and as little as Kymo can be built with. Most tests of the command line ask the store, which is not there then.
PARTS = ^(unit|conformance|register|badtools|golden|sql)
run-clang:
	@$(call build,clang)
	@$(call run_tests,clang,-j $(JOBS) -R '$(PARTS)')

run-bare:
	@$(call build,bare)
	@$(call run_tests,bare,-j $(JOBS) -R '$(PARTS)')

# A field and a kind of record in a copy of the sources, which is built.
run-scratch:
	@python3 -B tests/record/test_scratch.py . 2>&1

# Without libFuzzer the same targets run in make check, with mutations of tests/fuzz/timed_main.c. When it ran last, and what it
# told: build/fuzz/fuzz.txt. TARGETS="raw view": these alone.
SECONDS = 60
run-fuzz:
	@$(call build,fuzz)
	@python3 -B tools/check/fuzz.py build/fuzz --seconds $(SECONDS) --jobs $(JOBS) $(TARGETS)

# The table, with its seed and when it was made, is in build/ci/harm.json as well.
KILLS = 250
run-harm:
	@$(call build,ci)
	@tests/harm/harm.py build/ci --jobs $(JOBS) --rounds $(KILLS) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only '$(ONLY)')

run-harm-long:
	@$(again) run-harm KILLS=1000

run-soak:
	@$(call build,ci)
	@tools/soak.sh --build build/ci

# Mutants of the sources: which changes of one line no test sees. When it ran last, and what survived: build/mutants.json.
run-mutants:
	@python3 -B tools/check/mutate.py $(MUTATE)

run-model:
	@python3 -B tests/model/test_model.py all

bench:
	@tools/setup.sh build demo bench
	@$(MAKE) --no-print-directory all
	@cmake --build --preset release --target bench

fmt:
	@tools/check/lint.py --formatter | xargs -I {} sh -c "git ls-files '*.c' '*.h' | xargs {} -i"

lint:
	@$(call build,ci)
	@tools/check/lint.py --need --build build/ci

install: all
	@cmake --install build/release $(if $(PREFIX),--prefix $(PREFIX)) $(if $(DEBUG),,--strip)

clean:
	@rm -rf build
