"""The places from which walk.py looks at the stack. Each case is a function
that calls here() in situations of one kind; here() does the comparing.
"""
import asyncio
import contextlib
import ctypes
import functools
import gc
import os
import sys
import tempfile
import weakref

from compare import VERSION, here, kept, released

cases = []


def case(function):
    cases.append(function)
    return function


@case
def plain():
    here("plain")


@case
def lambdas():
    (lambda: (lambda: here("lambda"))())()


@case
def comprehensions():
    [here("list comprehension") for _ in (1,)]
    {here("set comprehension") for _ in (1,)}
    {1: here("dict comprehension") for _ in (1,)}
    list(here("generator expression") for _ in (1,))
    [[here("nested comprehension") for _ in (1,)] for _ in (1, 2)]


@case
def class_bodies():
    class Outer:
        here("class body")

        class Inner:
            here("inner class body")

        def method(self):
            here("method")

        @classmethod
        def cm(cls):
            here("classmethod")

        @staticmethod
        def sm():
            here("staticmethod")

    Outer().method()
    Outer.cm()
    Outer.sm()


@case
def decorators():
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            here("in a decorator's wrapper")
            return function(*args, **kwargs)
        return wrapper

    @decorate
    @decorate
    def decorated(a, b=2):
        here("decorated")

    decorated(1, b=3)


@case
def multi_line():
    here(
        "call over"
        " several lines",
        True
    )
    (1 +
     2 + len([here("in an expression"),
              3]))


@case
def from_c():
    list(map(lambda x: here("map"), [1]))
    sorted([2, 1], key=lambda x: here("sorted key"))
    functools.reduce(lambda a, b: here("reduce"), [1, 2])
    functools.partial(here, "partial")()
    max([1, 2], key=lambda x: (here("max key"), x)[1])

    @functools.lru_cache(None)
    def cached(x):
        here("lru_cache")
    cached(object())

    class Compare:
        def __lt__(self, other):
            here("__lt__ in sort")
            return False
    [Compare(), Compare()].sort()


CALLBACK = ctypes.CFUNCTYPE(None)


@case
def ctypes_callbacks():
    def again(depth):
        if depth == 0:
            here("in ctypes callbacks")
        else:
            released.test_call(CALLBACK(lambda: again(depth - 1)))
            kept.test_call(CALLBACK(lambda: again(0)))
    again(3)


@case
def specialized():
    class Thing:
        def __init__(self, depth=0):
            self.x = 1
            here("__init__")

        @property
        def prop(self):
            here("property")
            return 1

        def __getitem__(self, i):
            here("__getitem__")
            return i

        def __call__(self):
            here("__call__")

        def __add__(self, other):
            here("__add__")
            return self

        def __enter__(self):
            here("__enter__")
            return self

        def __exit__(self, *a):
            here("__exit__")

        def __iter__(self):
            here("__iter__")
            return iter(())

        def __getattr__(self, name):
            here("__getattr__")
            return 1

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)

        def __contains__(self, x):
            here("__contains__")
            return True

    class Derived(Thing):
        def __init__(self):
            super().__init__()

    class Always:
        def __getattribute__(self, name):
            here("__getattribute__")
            return 1

    for i in range(12):     # enough for the interpreter to specialize the instructions
        thing = Thing()
        thing = Derived()
        thing.prop
        thing[i]
        thing()
        thing + thing
        with thing:
            here("in with")
        for _ in thing:
            pass
        thing.missing
        3 in thing
        Always().x


@case
def metaclass():
    class Meta(type):
        def __call__(cls):
            here("metaclass __call__")
            return super().__call__()

        def __prepare__(name, bases):
            here("__prepare__")
            return {}

    class Made(metaclass=Meta):
        def __new__(cls):
            here("__new__")
            return super().__new__(cls)

        def __init__(self):
            here("__init__ under a metaclass")

        def __init_subclass__(cls):
            here("__init_subclass__")

    class Sub(Made):
        pass
    Made()
    Sub()


@case
def executed():
    code = "def made():\n\n    here('exec')\n\n\nmade()\nhere('exec module level')\n"
    exec(compile(code, "<made up>", "exec"), {"here": here})
    eval("here('eval')")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "sonde_made_up.py"), "w") as file:
            file.write("import sys\nhere = sys.modules['compare'].here\nhere('at import')\n\nclass A:\n    here('class at import')\n")
        sys.path.insert(0, folder)
        try:
            import sonde_made_up
        finally:
            sys.path.remove(folder)
            sys.modules.pop("sonde_made_up", None)


@case
def generators():
    def inner():
        here("inner generator")
        x = yield 1
        here("inner generator after send")
        yield x

    def outer():
        here("outer generator")
        yield from inner()

    def outermost():
        yield from outer()

    g = outermost()
    next(g)
    g.send(5)
    list(outermost())
    for _ in outermost():
        here("for over a generator")
    sum(here("generator in sum") or 1 for _ in (1, 2))
    a, *b = outermost()
    [*outermost()]


# In 3.9 a generator that throw() passes through is not linked to its caller:
# the interpreter itself has lost the frames further out.
LINKED = VERSION >= (3, 10) or "lost"


@case
def throw_into():
    def inner():
        try:
            yield 1
        except KeyError:
            here("throw reached the inner generator", LINKED)
            yield 2
        finally:
            here("finally of the inner generator")

    def middle():
        yield from inner()

    def outer():
        yield from middle()

    g = outer()
    next(g)
    g.throw(KeyError("x"))
    g.close()
    g = outer()
    next(g)
    g.close()

    def never():
        yield 1
    g = never()
    try:
        g.throw(KeyError("not started"))
    except KeyError:
        here("thrown into what was not started")

    class Iterator:
        def __iter__(self):
            return self

        def __next__(self):
            here("__next__ by yield from")
            return 1

        def throw(self, *args):
            here("a throw method by yield from")
            raise StopIteration

        def close(self):
            here("a close method by yield from")

    def over():
        yield from Iterator()
    g = over()
    next(g)
    g.throw(KeyError("x")) if False else None
    try:
        g.throw(KeyError("x"))
    except StopIteration:
        pass
    g = over()
    next(g)
    g.close()


@case
def exceptions():
    def raiser(n):
        if n:
            raiser(n - 1)
        else:
            raise KeyError

    try:
        raiser(5)
    except KeyError:
        here("in except")
        try:
            raiser(2)
        except KeyError as error:
            here("in nested except")
            assert error.__traceback__
    try:
        try:
            raiser(1)
        finally:
            here("in finally")
    except KeyError:
        pass

    @contextlib.contextmanager
    def manager():
        try:
            yield
        except KeyError:
            here("contextmanager")
    with manager():
        raiser(1)

    class Exit:
        def __enter__(self):
            return self

        def __exit__(self, kind, value, trace):
            here("__exit__ with an exception in flight")
            return True
    with Exit():
        raiser(3)
    here("after")


class Dying:
    def __init__(self, label):
        self.label = label

    def __del__(self):
        here(self.label)


@case
def finalizers():
    def leaving():
        x = Dying("__del__ while its function returns")
        return 1

    def leaving_by_exception():
        x = Dying("__del__ while its function raises")
        raise KeyError

    leaving()
    list(map(lambda _: leaving(), [1]))          # the only frame of its eval call
    functools.reduce(lambda a, b: leaving(), [1, 2])
    list(map(lambda _: Dying("__del__ of a temporary"), [1]))
    sorted([1], key=lambda x, y=None: Dying("__del__ in sort") and 1)
    try:
        leaving_by_exception()
    except KeyError:
        pass

    def generator():
        x = Dying("__del__ while its generator ends")
        yield 1
    list(generator())
    g = generator()
    next(g)
    del g
    weak = set()
    thing = Dying("__del__ with a weak reference")
    weak.add(weakref.ref(thing, lambda r: here("weakref callback")))
    del thing
    # Callbacks that run from inside a C function while a local dies.

    def local(x):
        pass
    list(map(local, iter([Dying("__del__ of an argument")])))


class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        here("__del__ by the garbage collector", True)


@case
def collected_while_entering():
    """The collector runs while a frame is being set up (cells, generators)."""
    threshold = gc.get_threshold()

    def garbage():
        gc.disable()
        Cycle()
        gc.set_threshold(1)
        gc.enable()
        yield 1

    def closure(a, b, c):
        def use():
            return a, b, c
        return use

    def generator(a):
        def use():
            return a
        yield use

    try:
        for _ in range(6):
            list(map(closure, (1,), (2,), garbage()))   # the only frame of its eval call
            list(map(generator, garbage()))
            closure(1, 2, *garbage())
    finally:
        gc.set_threshold(*threshold)
        gc.enable()
        gc.collect()


@case
def coroutines():
    async def leaf(n):
        here("coroutine")
        await asyncio.sleep(0)
        here("coroutine resumed")
        return n

    async def middle(n):
        return await leaf(n)

    async def agen():
        for i in range(2):
            here("async generator")
            yield i
            await asyncio.sleep(0)

    class Manager:
        async def __aenter__(self):
            here("__aenter__")

        async def __aexit__(self, *args):
            here("__aexit__")

    async def cancelled():
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            here("cancelled", LINKED)
            raise

    async def waits_for_cancelled():
        await cancelled()

    async def main():
        await asyncio.gather(*[middle(i) for i in range(5)])
        async for _ in agen():
            here("async for")
        [here("async comprehension") async for _ in agen()]
        async with Manager():
            here("async with")
        task = asyncio.ensure_future(waits_for_cancelled())
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            here("after cancel")
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, lambda: here("executor"))
        done = asyncio.Event()
        loop.call_soon(lambda: (here("call_soon"), done.set()))
        await done.wait()
        gen = agen()
        await gen.asend(None)
        try:
            await gen.athrow(KeyError)
        except KeyError:
            here("athrow")
        await agen().aclose()

    asyncio.run(main())


@case
def unicode_names():
    def rename(name, file):
        code = (lambda: here("strange names")).__code__
        change = dict(co_name=name, co_filename=file)
        if hasattr(code, "co_qualname"):
            change["co_qualname"] = name
        exec_code = code.replace(**change)
        type(plain)(exec_code, globals())()

    class Path(str):
        pass

    rename("caf\xe9", "/caf\xe9/\xff.py")
    rename("\u65e5\u672c", "/\u65e5\u672c.py")
    rename("f\U0001f600", "/\U0001f600/\u65e5/\xe9/a.py")
    rename("x", "/not-utf8-\udcff\udc80.py")
    rename("n" * 2000, "/f" * 2000)
    rename("\x01\x7f\x80\u07ff", "/\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff")
    rename("\xe9" * 600, "/\u65e5" * 900)
    rename("", "")
    exec(compile("here('a file name of a subclass of str')", Path("/sub/\xe9"), "exec"))
    exec(compile("def caf\xe9_\u65e5(): here('an identifier')\ncaf\xe9_\u65e5()", "\xe9", "exec"))


@case
def line_numbers():
    code = compile("\n" * 70000 + "here('line 70001')\n\n\n(here('a'),\n\n\n here('b'))\n", "<far>", "exec")
    exec(code)
    exec(code.replace(co_firstlineno=5))
    long = "x = 1\n" * 3000 + "here('after 3000 statements')\n" + "x += 1\n" * 3000 + "here('after 6000')"
    exec(compile(long, "<long>", "exec"))
    exec(compile("if True:\n" + "\n" * 300 + " for i in (1,2):\n" + "\n" * 200 + "  here('gaps')\n", "<gaps>", "exec"))
    exec(compile("x = (" + "1 +\n" * 400 + "(here('deep expression') or 1))", "<expr>", "exec"))


@case
def changed_functions():
    def a():
        here("a function with another's code")

    def b():
        pass
    b.__code__ = a.__code__
    b()

    class Patched:
        def method(self):
            pass
    Patched.method = lambda self: here("monkeypatched")
    Patched().method()


@case
def kept_frames():
    """Frame objects that outlive their call, and walks while they are held."""
    frames = []

    def leaves():
        frames.append(sys._getframe())
        here("frame object made")

    leaves()
    here("frame object held")
    del frames[:]

    def generator():
        frames.append(sys._getframe())
        yield 1
        here("generator with a frame object")
    list(generator())


@case
def recursion():
    def down(n):
        if n:
            return down(n - 1)
        here("900 deep")
    down(900 - 20)

    def zigzag(n):
        if n:
            return max([1], key=lambda _: zigzag(n - 1) or 1)
        here("zigzag through C")
    zigzag(60)


@case
def tracing():
    def traced():
        x = 1
        y = [i for i in (1, 2)]
        return x

    def trace(frame, event, arg):
        here("trace " + event)
        frame.f_trace_opcodes = True
        return trace

    def profile(frame, event, arg):
        sys.setprofile(None)
        here("profile " + event)
        sys.setprofile(profile)

    old = sys.gettrace()
    sys.settrace(trace)
    traced()
    sys.settrace(old)
    sys.setprofile(profile)
    traced()
    len([1])
    sys.setprofile(None)
    if hasattr(sys, "monitoring"):
        monitoring = sys.monitoring
        monitoring.use_tool_id(4, "sonde test")
        for event in (monitoring.events.PY_START, monitoring.events.LINE, monitoring.events.INSTRUCTION,
                      monitoring.events.PY_RETURN):
            monitoring.register_callback(4, event, lambda *args: here("monitoring"))
        code = traced.__code__
        monitoring.set_local_events(4, code, monitoring.events.PY_START | monitoring.events.LINE
                                    | monitoring.events.INSTRUCTION | monitoring.events.PY_RETURN)
        traced()
        monitoring.set_local_events(4, code, 0)
        monitoring.free_tool_id(4)
