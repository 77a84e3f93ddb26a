# make            build into build/; build/bin/sonde runs from there
# make demo       install what is missing, build, record a real OpenCL program, report, export
# make check      install what is missing, then every test, also under the sanitizers
# make check-all  the same with the long tests
# make bench      the figures of docs/performance.md
# make check-gpu  the tests that need a GPU (docs/developers/gpu-tests.md); SONDE=.../bin/sonde tests one that is built
# make bench-gpu  the CUDA figures of docs/performance.md; BENCH="--quick" takes two minutes
# make pictures   the README's pictures of the viewer, in docs/pictures/
# make install PREFIX=/usr/local [DESTDIR=]
# make dist       build/dist/sonde-VERSION-linux-x86_64.tar.gz, runs from any folder
# make wheel      build/dist/sonde-VERSION-….whl: `pip install` of it gives the command and `import sonde`
# make clean
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
export JOBS

all:
	@tools/setup.sh --check build
	@test -f build/build.ninja || cmake --preset release -DBUILD_TESTING=OFF
	@cmake --build --preset release -j $(JOBS)

demo:
	@tools/setup.sh build demo
	@$(MAKE) --no-print-directory all
	@tools/demo.sh

check:
	@tools/setup.sh build demo viewer test
	@tools/check.sh

check-all:
	@tools/setup.sh build demo viewer test
	@tools/check.sh -C all

bench:
	@tools/setup.sh build demo test
	@cmake --preset release -DBUILD_TESTING=ON
	@cmake --build --preset release -j $(JOBS) --target all bench-programs
	@python3 bench/run.py

# Where there is no GPU, these say so and build nothing.
check-gpu:
	@python3 tests/gpu/run.py --can-run || { [ $$? = 77 ] && exit 0; exit 1; }; \
	$(if $(SONDE),,$(MAKE) --no-print-directory all &&) \
	python3 tests/gpu/run.py $(if $(SONDE),--sonde $(SONDE)) $(NAMES); status=$$?; [ $$status = 77 ] || exit $$status

bench-gpu:
	@python3 tests/gpu/run.py --can-run || { [ $$? = 77 ] && exit 0; exit 1; }; \
	$(if $(SONDE),,$(MAKE) --no-print-directory all &&) \
	python3 bench/gpu.py $(if $(SONDE),--sonde $(SONDE)) $(BENCH)

pictures:
	@tools/setup.sh build demo test
	@$(MAKE) --no-print-directory all
	@mkdir -p build/demo
	@build/bin/sonde record -q --force --values -o build/demo/heat.sonde -- build/bin/examples/heat 512 100
	@build/viewer/node/bin/node tools/pictures.mjs build/demo/heat.sonde docs/pictures/timeline.png=timeline docs/pictures/values.png=values

install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

dist: all
	@tools/dist.sh

wheel: all
	@tools/wheel.py

clean:
	rm -rf build build-debug build-asan build-tsan

.PHONY: all demo check check-all check-gpu bench bench-gpu pictures install dist wheel clean
