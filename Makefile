# Everything a newcomer needs: `make demo` and `make test` install what is missing, build and run.

SWIFT ?= swift
PACKAGES := libsqlite3-dev libssl-dev liblz4-dev pkg-config
STRICT := -Xswiftc -warnings-as-errors
SOURCES := Package.swift Sources Tests Playground Benchmarks Web

.PHONY: all deps cluster-deps build release dist dist-test demo demo-cluster test test-cluster browser-test browser-bench python-test check soak fuzz bench bench-cluster lint fmt docs surface clean

all: build

# What only servers need that share their databases by PostgreSQL, and the tests of that: the trait PostgreSQL.
cluster-deps: PACKAGES += libpq-dev postgresql
cluster-deps: deps

# Installs the missing Debian packages; says plainly what to do where that is impossible.
deps:
	@command -v $(SWIFT) >/dev/null 2>&1 || { \
	  echo "make: no Swift toolchain found. Install Swift 6.2 or later from https://swift.org/install and put 'swift' on PATH." >&2; exit 1; }
	@missing=""; for package in $(PACKAGES); do \
	  dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q "install ok installed" || missing="$$missing $$package"; done; \
	if [ -n "$$missing" ]; then \
	  if ! command -v apt-get >/dev/null 2>&1; then \
	    echo "make: this system has no apt-get. Install the headers of SQLite 3, OpenSSL 3 and LZ4, and pkg-config, by hand ($$missing on Debian)." >&2; exit 1; fi; \
	  if [ "$$(id -u)" = 0 ]; then as_root=""; elif command -v sudo >/dev/null 2>&1; then as_root="sudo"; else \
	    echo "make: these Debian packages are missing:$$missing. Run as root: apt-get install$$missing" >&2; exit 1; fi; \
	  echo "Installing$$missing"; \
	  $$as_root apt-get update -qq && $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null || { \
	    echo "make: apt-get could not install$$missing; the lines above say why." >&2; exit 1; }; \
	fi

build: deps
	$(SWIFT) build $(STRICT)

# Of the products, `sluice` has Swift's libraries in it and runs where there is no toolchain (Package.swift).
release: deps
	$(SWIFT) build -c release

# The program for machines without a toolchain, in .build/dist; and a test that it needs none.
dist: release
	Tools/dist

dist-test: dist
	Tools/dist-test

demo: deps
	$(SWIFT) build -c release --product DepartureBoard
	@$(SWIFT) run -c release --skip-build DepartureBoard

# Three servers on a PostgreSQL of its own; one is killed under load. The trait compiles everything anew, in a folder of
# its own.
demo-cluster: cluster-deps
	$(SWIFT) build -c release --traits PostgreSQL --scratch-path .build/cluster --product sluice
	$(SWIFT) build -c release --traits PostgreSQL --scratch-path .build/cluster --product ThreeNodes
	@Tools/demo-cluster .build/cluster/release/sluice .build/cluster/release/ThreeNodes

# All tests, built for release with their assertions: most of a run is generated cases, which then take a third of the
# time. Sets and dictionaries iterate in one order, so that a seed means the same everywhere; `make soak` shakes that too.
# Where node and chromium are, what runs in browsers is tested as well.
#
# With TRAITS=PostgreSQL what the package is without the trait is checked by Tools/check-plain, when all tests are done,
# and then the servers that share a journal in PostgreSQL are tested, in the same build: they wait for processes. After
# UNTIL, in seconds since 1970, those are left out. TESTS= names test targets: the others are left out.
test: PACKAGES += $(if $(TRAITS),libpq-dev postgresql pgbouncer)
test: deps
	$(CHOSEN) $(SWIFT) build --build-tests $(TESTED)
	@SWIFT_DETERMINISTIC_HASHING=1 $(CHOSEN) Tools/run-tests $(SWIFT) test --skip-build $(TESTED) --skip SluicePostgresTests
	@$(if $(TRAITS),Tools/check-plain $(TEST_BUILD))
	@$(if $(TRAITS),$(CHOSEN) SLUICE_UNTIL=$(UNTIL) Tools/run-tests $(SWIFT) test --skip-build $(TESTED) --filter SluicePostgresTests)
	@$(if $(TESTS),,$(BROWSER_TEST))
TRAITS ?=
TESTS ?=
UNTIL ?=
CHOSEN = SLUICE_TEST_BUILD=1 $(if $(TESTS),SLUICE_TEST_TARGETS="$(TESTS)")
TEST_BUILD = .build/tests$(if $(TRAITS),-$(TRAITS))
TESTED = -c release --scratch-path $(TEST_BUILD) $(if $(TRAITS),--traits $(TRAITS)) $(STRICT) -Xswiftc -enable-testing \
  -Xswiftc -assert-config -Xswiftc Debug -Xswiftc -gnone
BROWSER_TEST = if [ -x /usr/bin/chromium ] && command -v node >/dev/null; then \
  Tools/browser-test $(TEST_BUILD)/release/sluice; fi

# The module in node and the dashboard in chromium, against the program; pictures of all screens in .build/screenshots.
# Renews the pictures of the guides: make browser-test PICTURES=docs/images
browser-test: build
	Tools/browser-test .build/debug/sluice

# How fast the dashboard marks and scrolls, and whether a browser that slept for SLEEP seconds loses or doubles anything.
browser-bench: build
	SLUICE=.build/debug/sluice node --test Tests/Browser/speed.mjs
	SLUICE=.build/debug/sluice SLEEP=$(SLEEP) node --experimental-websocket --test Tests/Browser/sleep.mjs
	SLUICE=.build/debug/sluice SLEEP=$(SLEEP) REACHABLE=no node --experimental-websocket --test Tests/Browser/sleep.mjs
SLEEP ?= 200

# The wheel of the Python package, installed in an environment of its own, against the program.
python-test: build
	Tools/python-test .build/debug/sluice

# The tests with a PostgreSQL of its own in a temporary folder and nodes that share it, among them processes of the
# program. SLUICE_KILLS says how often PostgreSQL, nodes and connections are killed.
test-cluster:
	$(MAKE) test TRAITS=PostgreSQL TESTS=SluicePostgresTests

# The tests of views, server and simulator with every view, its changes and its places in the index compared with the
# oracle after each commit. Slow, and built apart.
check: deps
	@SWIFT_DETERMINISTIC_HASHING=1 SLUICE_SOAK_SEEDS=$(CHECKED_SEEDS) $(SWIFT) test $(STRICT) -Xswiftc -DSLUICE_CHECK \
	  --scratch-path .build/checked --filter 'SluiceViewsTests|SluiceServerTests|SluiceTestingTests'
CHECKED_SEEDS ?= 0

# The simulator over many more seeds, in the build of the tests, and other generated tests over a tenth as many:
# make soak SEEDS=5000 FIRST=1000. With KIND=cluster the seeds are those in which several nodes share a journal.
SEEDS ?= 1000
FIRST ?= 1000
KIND ?=
soak: deps
	$(CHOSEN) $(SWIFT) build $(TESTED) --product Soak
	SWIFT_DETERMINISTIC_HASHING=1 $(TEST_BUILD)/release/Soak $(KIND) $(FIRST) $(SEEDS)
	$(CHOSEN) SLUICE_SOAK_SEEDS=$(SEEDS) $(SWIFT) test $(TESTED) --filter 'OracleTests|LiveView|LateView|ResultEditor|OutboxTests|LogTests|LimitGenerator|AtomView|AtomUnion|Together|RuledWorldTests'

# libFuzzer on everything that takes bytes from strangers: make fuzz SECONDS=600 TARGETS="query http"
SECONDS ?= 60
fuzz: deps
	SWIFT="$(SWIFT)" Tools/fuzz $(SECONDS) $(TARGETS)

# Prints what moved since the last run: the results stay in .build/benchmarks.json. With PEERS=1 a PostgreSQL and a Redis
# run beside it, which R3, R4 and R8 are compared with: make bench PEERS=1 ARGS="--only=R3,R4,R8"
PEERS ?=
ifeq ($(PEERS),1)
bench: PACKAGES += redis-server
bench: cluster-deps
	$(SWIFT) build -c release --traits PostgreSQL --scratch-path .build/cluster --product Benchmarks
	SLUICE_POSTGRES_SETTINGS="-c max_connections=1200" Tools/with-postgres Tools/with-redis \
	  .build/cluster/release/Benchmarks --peers $(ARGS)
else
bench: release
	$(SWIFT) run -c release --skip-build Benchmarks $(ARGS)
endif

# The rows S1 to S11, beside a PostgreSQL of their own: make bench-cluster ROWS=S10,S11
ROWS ?= S1,S2,S3,S4,S5,S6,S7,S8,S9,S10,S11
bench-cluster: cluster-deps
	$(SWIFT) build -c release --traits PostgreSQL --scratch-path .build/cluster --product Benchmarks
	$(SWIFT) build -c release --traits PostgreSQL --scratch-path .build/cluster --product sluice
	Tools/with-postgres .build/cluster/release/Benchmarks --only=$(ROWS) --json=.build/benchmarks-cluster.json $(ARGS)

lint:
	$(SWIFT) format lint --strict --recursive --parallel $(SOURCES)

fmt:
	$(SWIFT) format --in-place --recursive --parallel $(SOURCES)

# The guides and the reference as a static site in .build/docs.
docs: build
	Tools/build-docs

# The public symbols beside docs/public-symbols.txt: what users can rely on changes only knowingly.
surface: build
	Tools/public-symbols

clean:
	$(SWIFT) package clean
