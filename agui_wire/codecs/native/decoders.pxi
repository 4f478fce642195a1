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

    `decode` is msgspec's for the JSON and the MessagePack wire, None on protobuf.
    """

    cdef object hand_back
    cdef object feed_on
    cdef object decode
    cdef bint is_json
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

    def __cinit__(self, hand_back, feed_on, max_frame_size, max_depth, sized, decode, is_json):
        self.reader.cache = self.cache
        self.hand_back = hand_back
        self.feed_on = feed_on
        self.max_frame_size = max(0, min(max_frame_size, PY_SSIZE_T_MAX))
        self.sized = sized
        self.decode = decode
        self.is_json = is_json
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
        return self.read_blocks(data) if self.is_json else self.read(data)

    cdef PyObject* event_of(self, const uint8_t* p, const uint8_t* end) noexcept:
        """The event of a payload, or NULL where it needs a judgement."""
        if self.decode is None:
            return read_event(&self.reader, p, end)
        return self.decoded(p, end - p)

    cdef PyObject* decoded(self, const uint8_t* p, Py_ssize_t size) noexcept:
        cdef PyObject* payload
        cdef PyObject* event = NULL
        if not self.reader.limit:
            return NULL
        payload = PyBytes_FromStringAndSize(<const char*> p, size)
        if payload != NULL:
            event = PyObject_CallOneArg(<PyObject*> self.decode, payload)
            Py_DECREF(payload)
        if event == NULL:
            PyErr_Clear()
            return NULL
        # In JSON a level costs two bytes, so a short text cannot nest too deep.
        searched = not self.is_json or size > 2 * self.reader.limit
        if is_settled(event, searched, self.reader.limit):
            return event
        Py_DECREF(event)
        return NULL

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
            event = self.event_of(p + PREFIX, p + size)
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
        event = self.event_of(self.held + PREFIX, self.held + size)
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

    cdef list read_blocks(self, bytes data):
        """SSE: blocks that each end in a blank line."""
        cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(<PyObject*> data)
        cdef const uint8_t* end = start + PyBytes_GET_SIZE(<PyObject*> data)
        cdef const uint8_t* p = start
        cdef const uint8_t* stop
        cdef list events = owned(new_list(0))
        cdef bytes held
        # Other line ends are legal, and left to the Python codec.
        if memchr(p, 13, end - p) != NULL:
            self.give_back(events, self.release() + data)
            return events
        if self.held_size and p < end:
            if self.held[self.held_size - 1] == 10 and p[0] == 10:
                stop = p + 1
            else:
                stop = block_end(p, end)
            if stop == NULL:
                stop = end
            self.hold(p, stop - p)
            p = stop
            if self.held_size > self.max_frame_size:
                self.give_back(events, self.release() + data[p - start :])
                return events
            if (stop - 1)[0] == 10 and self.held_size > 1 and self.held[self.held_size - 2] == 10:
                held = self.release()
                self.take_block(
                    <const uint8_t*> PyBytes_AS_STRING(<PyObject*> held), len(held), events
                )
        while not self.stopped and p < end:
            stop = block_end(p, end)
            if stop == NULL:
                break
            self.take_block(p, stop - p, events)
            p = stop
        if not self.stopped and p < end:
            if self.held_size + (end - p) > self.max_frame_size:
                self.give_back(events, self.release() + data[p - start :])
            else:
                self.hold(p, end - p)
        return events

    cdef int take_block(self, const uint8_t* p, Py_ssize_t size, list events) except -1:
        """One block: an event in one data line, or what the Python codec has to see."""
        cdef PyObject* event = NULL
        if size > 8 and size <= self.max_frame_size and not memcmp(p, <const char*> b"data: ", 6):
            # The blank line is the first line end there is.
            if memchr(p, 10, size) == p + size - 2:
                event = self.decoded(p + 6, size - 8)
        if event != NULL:
            return self.add(events, event, size)
        return self.give_back(events, owned(PyBytes_FromStringAndSize(<const char*> p, size)))

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


cdef const uint8_t* block_end(const uint8_t* p, const uint8_t* end) noexcept:
    """The end of the first blank line, or NULL."""
    while True:
        p = <const uint8_t*> memchr(p, 10, end - p)
        if p == NULL or end - p < 2:
            return NULL
        if p[1] == 10:
            return p + 2
        p += 2


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
