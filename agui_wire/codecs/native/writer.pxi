# The buffer that events are written to. One is kept between calls, if it has not grown large.

DEF SPARE_SIZE = 1 << 20
DEF LARGEST = 1 << 30

cdef struct Writer:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t room
    int limit               # JSON levels
    PyTypeObject* unknown   # a class that no table knows yet

cdef uint8_t* spare = NULL
cdef Py_ssize_t spare_room = 0


cdef void open_writer(Writer* w, int limit) noexcept:
    global spare, spare_room
    w.data, w.room = spare, spare_room
    spare, spare_room = NULL, 0
    w.size = 0
    w.limit = limit
    w.unknown = NULL


cdef void close_writer(Writer* w) noexcept:
    global spare, spare_room
    if spare == NULL and w.room <= SPARE_SIZE:
        spare, spare_room = w.data, w.room
    else:
        free(w.data)


cdef int grow(Writer* w, Py_ssize_t more) noexcept:
    cdef Py_ssize_t room
    cdef uint8_t* data
    if more > LARGEST - w.size:
        return -1
    room = max(w.size + more, 2 * w.room, 1024)
    data = <uint8_t*> realloc(w.data, room)
    if data == NULL:
        return -1
    w.data, w.room = data, room
    return 0


cdef inline int ensure(Writer* w, Py_ssize_t more) noexcept:
    return 0 if w.room - w.size >= more else grow(w, more)


cdef inline void put_byte(Writer* w, uint8_t byte) noexcept:
    w.data[w.size] = byte
    w.size += 1


cdef inline void put_bytes(Writer* w, const void* data, Py_ssize_t size) noexcept:
    memcpy(w.data + w.size, data, size)
    w.size += size


cdef int close_length(Writer* w, Py_ssize_t start, int reserved) noexcept:
    """Writes the length of all from `start` into the `reserved` bytes before it, moving it
    where its length takes more or fewer."""
    cdef Py_ssize_t size = w.size - start
    cdef int needed = varint_size(size)
    if needed != reserved:
        if ensure(w, 5) < 0:
            return -1
        memmove(w.data + start - reserved + needed, w.data + start, size)
        w.size += needed - reserved
    put_varint(w.data + start - reserved, size)
    return 0


cdef int put_text(Writer* w, uint8_t tag, PyObject* text) noexcept:
    """A str as a length-delimited field."""
    cdef Py_ssize_t size = utf8_size(text)
    cdef uint8_t* p
    if size < 0 or ensure(w, size + 11) < 0:
        return -1
    p = w.data + w.size
    p[0] = tag
    p = put_varint(p + 1, size)
    w.size = put_utf8(p, text) - w.data
    return 0


cdef inline bint is_choice(PyObject* text, PyObject* choices) noexcept:
    """Whether a str is one of a tuple."""
    cdef Py_ssize_t i
    for i in range(Py_SIZE(choices)):
        if text == tuple_item(choices, i):
            return True
    for i in range(Py_SIZE(choices)):
        if PyUnicode_Compare(text, tuple_item(choices, i)) == 0:
            return True
    return False


cdef bint is_member(PyTypeObject* cls, PyObject* members) noexcept:
    cdef Py_ssize_t i
    for i in range(Py_SIZE(members)):
        if <PyObject*> cls == tuple_item(members, i):
            return True
    return False
