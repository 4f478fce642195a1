# What a StreamDecoder's callers call.

DEF PREFIX = 4
DEF HELD_KEPT = 1 << 16
DEF DEEPEST = 200
# The protocol's own objects go no deeper; only open JSON has to be watched then.
DEF OWN_LEVELS = 8


cdef class Decoder:
    """Reads the frames of one stream; `hand_back` reads those that need a judgement.

    `hand_back(events, frames, size, data)`: `frames` frames of `size` bytes were read here since
    the last call; `data` follows them, one frame or all from a faulty one on. It appends to
    `events` and says whether to go on here; if not, every further chunk goes to `feed_on`.
    """

    cdef object hand_back
    cdef object feed_on
    cdef Py_ssize_t max_frame_size
    cdef Reader reader
    cdef PyObject* cache[CACHE_SIZE]
    cdef uint8_t* held
    cdef Py_ssize_t held_size
    cdef Py_ssize_t held_room
    cdef Py_ssize_t frames
    cdef Py_ssize_t size
    cdef bint stopped
    # The sizes of those frames, where somebody may ask for them.
    cdef bint sized
    cdef uint32_t* sizes
    cdef Py_ssize_t sizes_room

    def __cinit__(self):
        self.reader.cache = self.cache

    def __init__(self, hand_back, feed_on, max_frame_size, max_depth, sized):
        self.hand_back = hand_back
        self.feed_on = feed_on
        self.max_frame_size = max_frame_size
        self.sized = sized
        # Below OWN_LEVELS everything is handed back.
        self.reader.limit = min(max_depth, DEEPEST) if max_depth >= OWN_LEVELS else 0

    def __dealloc__(self):
        cdef int i
        for i in range(CACHE_SIZE):
            Py_XDECREF(self.cache[i])
        free(self.held)
        free(self.sizes)

    def feed(self, data, /):
        """The events whose frames `data` completes."""
        cdef PyObject* events
        if self.stopped:
            return self.feed_on(data)
        if type(data) is not bytes:
            data = bytes(memoryview(data))
        return self.read(data)

    cdef list read(self, bytes data):
        cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(<PyObject*> data)
        cdef const uint8_t* end = start + PyBytes_GET_SIZE(<PyObject*> data)
        cdef const uint8_t* p = start
        cdef Py_ssize_t size
        cdef PyObject* event
        cdef list events = owned(new_list(count_frames(p, end)))
        if self.held_size:
            p += self.complete(data, events)
        while not self.stopped:
            if end - p < PREFIX:
                break
            size = frame_size(p)
            if size > self.max_frame_size:
                self.give_back(events, data[p - start :])
                self.stopped = True
                return events
            if size > end - p:
                break
            event = read_event(&self.reader, p + PREFIX, p + size)
            if event == NULL:
                self.give_back(events, data[p - start : p - start + size])
            else:
                self.add(events, event, size)
            p += size
        if self.stopped:
            return events
        if p < end:
            self.hold(p, end - p)
        return events

    cdef inline int add(self, list events, PyObject* event, Py_ssize_t size) except -1:
        if self.sized and self.note(size) < 0:
            Py_DECREF(event)
            raise MemoryError
        self.frames += 1
        self.size += size
        if append(<PyObject*> events, event) < 0:
            raise MemoryError
        return 0

    cdef int note(self, Py_ssize_t size) noexcept:
        cdef uint32_t* sizes
        cdef Py_ssize_t room
        if self.frames == self.sizes_room:
            room = max(64, 2 * self.sizes_room)
            sizes = <uint32_t*> realloc(self.sizes, room * sizeof(uint32_t))
            if sizes == NULL:
                return -1
            self.sizes, self.sizes_room = sizes, room
        self.sizes[self.frames] = size
        return 0

    def frame_sizes(self, Py_ssize_t count, /):
        """The sizes of the first `count` frames since the last hand_back or taken()."""
        cdef Py_ssize_t i
        return [self.sizes[i] for i in range(min(count, self.sizes_room))]

    def taken(self):
        """How many frames and bytes were read since the last hand_back or taken()."""
        frames, size = self.frames, self.size
        self.frames = self.size = 0
        return frames, size

    cdef int hold(self, const uint8_t* p, Py_ssize_t size) except -1:
        cdef Py_ssize_t room
        cdef uint8_t* data
        if self.held_size + size > self.held_room:
            room = max(self.held_size + size, 2 * self.held_room, 64)
            data = <uint8_t*> realloc(self.held, room)
            if data == NULL:
                raise MemoryError
            self.held, self.held_room = data, room
        memcpy(self.held + self.held_size, p, size)
        self.held_size += size
        return 0

    cdef bytes release(self):
        """What is held, which then is held no more."""
        cdef bytes held = owned(PyBytes_FromStringAndSize(<const char*> self.held, self.held_size))
        self.forget()
        return held

    cdef void forget(self) noexcept:
        self.held_size = 0
        if self.held_room > HELD_KEPT:
            free(self.held)
            self.held, self.held_room = NULL, 0

    cdef Py_ssize_t complete(self, bytes data, list events) except -1:
        """Ends the frame that is held, if `data` has the rest of it; what that took of `data`."""
        cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(<PyObject*> data)
        cdef Py_ssize_t there = PyBytes_GET_SIZE(<PyObject*> data)
        cdef Py_ssize_t taken = 0, size
        cdef PyObject* event
        if self.held_size < PREFIX:
            taken = min(PREFIX - self.held_size, there)
            self.hold(start, taken)
            if self.held_size < PREFIX:
                return taken
        size = frame_size(self.held)
        if size > self.max_frame_size:
            self.give_back(events, self.release() + data[taken:])
            self.stopped = True
            return there
        there = min(size - self.held_size, there - taken)
        self.hold(start + taken, there)
        taken += there
        if self.held_size < size:
            return taken
        event = read_event(&self.reader, self.held + PREFIX, self.held + size)
        if event == NULL:
            self.give_back(events, self.release())
            return taken
        self.forget()
        self.add(events, event, size)
        return taken

    cdef int give_back(self, list events, bytes data) except -1:
        frames, size = self.frames, self.size
        self.frames = self.size = 0
        # Should it raise, nothing more is read here.
        self.stopped = True
        self.stopped = not self.hand_back(events, frames, size, data)
        return 0

    def finish(self):
        """How many frames and bytes were read since the last hand_back, and what is held."""
        frames, size = self.frames, self.size
        self.frames = self.size = 0
        self.stopped = True
        return frames, size, self.release()


cdef inline Py_ssize_t frame_size(const uint8_t* p) noexcept:
    return PREFIX + (
        <Py_ssize_t> p[0] << 24 | <Py_ssize_t> p[1] << 16 | <Py_ssize_t> p[2] << 8 | p[3]
    )


cdef Py_ssize_t count_frames(const uint8_t* p, const uint8_t* end) noexcept:
    """How many whole frames there are, if the first begins at `p`."""
    cdef Py_ssize_t count = 0, size
    while end - p >= PREFIX:
        size = frame_size(p)
        if size > end - p:
            break
        p += size
        count += 1
    return count
