# google.protobuf.Value and Struct, written.

DEF SCALAR_TEXT = 0x1A
DEF SCALAR_NUMBER = 0x11
DEF SCALAR_BOOL = 0x20
DEF SCALAR_NULL = 0x08
DEF MOST_EXACT = 1 << 53

cdef struct Scalar:
    int tag
    Py_ssize_t size     # of the whole Value
    Py_ssize_t text     # of the text in it
    double number
    bint truth


cdef inline bint is_finite(double number) noexcept:
    return number - number == 0


cdef inline bint read_number(PyObject* value, double* number) noexcept:
    """Whether `value` is an int or a float that a double holds exactly, and JSON has."""
    cdef PyTypeObject* cls = Py_TYPE(value)
    cdef long long exact
    cdef int overflow
    if cls == &PyFloat_Type:
        number[0] = PyFloat_AS_DOUBLE(value)
        return is_finite(number[0])
    if cls != &PyLong_Type:
        return False
    exact = int_of(value, &overflow)
    number[0] = <double> exact
    return not overflow and -MOST_EXACT <= exact <= MOST_EXACT


cdef inline int classify(PyObject* value, Scalar* scalar) noexcept:
    """0 for a scalar that a Value can hold, 1 for a dict or a list, -1 for anything else."""
    cdef PyTypeObject* cls = Py_TYPE(value)
    scalar.tag, scalar.size, scalar.text = SCALAR_NULL, 2, 0
    scalar.number, scalar.truth = 0, False
    if cls == &PyUnicode_Type:
        scalar.text = utf8_size(value)
        if scalar.text < 0:
            return -1
        scalar.tag = SCALAR_TEXT
        scalar.size = 1 + varint_size(scalar.text) + scalar.text
    elif read_number(value, &scalar.number):
        scalar.tag, scalar.size = SCALAR_NUMBER, 9
    elif cls == &PyBool_Type:
        scalar.tag, scalar.truth = SCALAR_BOOL, value == Py_True
    elif value == Py_None:
        return 0
    elif cls == &PyDict_Type or cls == &PyList_Type:
        return 1
    else:
        return -1
    return 0


cdef inline uint8_t* put_scalar(uint8_t* p, Scalar* scalar, PyObject* value) noexcept:
    p[0] = scalar.tag
    if scalar.tag == SCALAR_TEXT:
        return put_utf8(put_varint(p + 1, scalar.text), value)
    if scalar.tag == SCALAR_NUMBER:
        return put_double(p + 1, scalar.number)
    p[1] = scalar.truth
    return p + 2


cdef int put_value(Writer* w, uint8_t tag, PyObject* value, int level) noexcept:
    """A Value as field `tag`; a dict or list in it stands at JSON level `level`."""
    cdef Scalar scalar
    cdef uint8_t* p
    cdef int what = classify(value, &scalar)
    if what < 0:
        return -1
    if what:
        return put_container(w, tag, NULL, -1, value, level)
    if ensure(w, scalar.size + 11) < 0:
        return -1
    p = w.data + w.size
    p[0] = tag
    p = put_varint(p + 1, scalar.size)
    w.size = put_scalar(p, &scalar, value) - w.data
    return 0


cdef inline Py_ssize_t key_room(Py_ssize_t key_size) noexcept:
    # The published encoder leaves an empty key out of its entry.
    return 1 + varint_size(key_size) + key_size if key_size > 0 else 0


cdef inline uint8_t* put_entry(
    uint8_t* p, Py_ssize_t entry, PyObject* key, Py_ssize_t key_size
) noexcept:
    """The head of a Struct's entry of `entry` bytes, up to its value."""
    p[0] = 0x0A
    p = put_varint(p + 1, entry)
    if key_size:
        p[0] = 0x0A
        p = put_utf8(put_varint(p + 1, key_size), key)
    return p


cdef struct Lengths:
    Py_ssize_t inner    # of the Struct or ListValue
    Py_ssize_t outer    # of the Value around it
    Py_ssize_t entry    # of a Struct's entry around that


cdef inline Py_ssize_t measure(Lengths* found, Py_ssize_t inner, Py_ssize_t room) noexcept:
    """The lengths around `inner` bytes, with a key of `room` bytes; how long all before them is.

    There is no entry where `room` is negative.
    """
    cdef Py_ssize_t outer_size
    found.inner = inner
    found.outer = 1 + varint_size(inner) + inner
    outer_size = 1 + varint_size(found.outer) + found.outer
    if room < 0:
        return outer_size - inner
    found.entry = room + outer_size
    return 1 + varint_size(found.entry) + found.entry - inner


# The size of the last dict or list at each level: the next one there is often much like it.
cdef Py_ssize_t last_sizes[64]


cdef int put_container(
    Writer* w, uint8_t tag, PyObject* key, Py_ssize_t key_size, PyObject* value, int level
) noexcept:
    """A Value that holds a dict or a list, as field `tag`; with a `key_size` of 0 or more, as the
    entry of a Struct instead."""
    cdef bint is_dict = Py_TYPE(value) == &PyDict_Type
    cdef Py_ssize_t* last = &last_sizes[level & 63]
    cdef Py_ssize_t room = key_room(key_size) if key_size >= 0 else -1
    cdef Py_ssize_t start = w.size
    cdef Py_ssize_t size, head, guessed
    cdef Lengths lengths
    cdef uint8_t* p
    lengths.entry = 0
    # Where the guess is so near that all lengths take as many bytes, nothing moves.
    guessed = head = measure(&lengths, last[0], room)
    if level > w.limit or ensure(w, guessed + 32) < 0:
        return -1
    w.size += guessed
    if (put_members(w, value, level) if is_dict else put_items(w, value, level)) < 0:
        return -1
    size = w.size - start - guessed
    if size != lengths.inner:
        last[0] = size
        head = measure(&lengths, size, room)
    if head != guessed:
        if head > guessed and ensure(w, head - guessed) < 0:
            return -1
        memmove(w.data + start + head, w.data + start + guessed, size)
        w.size += head - guessed
    p = w.data + start
    if room >= 0:
        p = put_entry(p, lengths.entry, key, key_size)
        tag = 0x12
    p[0] = tag
    p = put_varint(p + 1, lengths.outer)
    p[0] = 0x2A if is_dict else 0x32
    put_varint(p + 1, size)
    return 0


cdef int put_members(Writer* w, PyObject* value, int level) noexcept:
    """The entries of a Struct, in the dict's order."""
    cdef Py_ssize_t position = 0, key_size, entry
    cdef PyObject* key
    cdef PyObject* item
    cdef Scalar scalar
    cdef double number
    cdef uint8_t* p
    cdef int what
    while PyDict_Next(value, &position, &key, &item):
        if Py_TYPE(key) != &PyUnicode_Type:
            return -1
        key_size = utf8_size(key)
        if key_size < 0:
            return -1
        if read_number(item, &number):
            entry = key_room(key_size) + 11
            if ensure(w, entry + 6) < 0:
                return -1
            p = put_entry(w.data + w.size, entry, key, key_size)
            p[0], p[1], p[2] = 0x12, 9, SCALAR_NUMBER
            w.size = put_double(p + 3, number) - w.data
            continue
        what = classify(item, &scalar)
        if what < 0:
            return -1
        if what:
            if put_container(w, 0, key, key_size, item, level + 1) < 0:
                return -1
            continue
        entry = key_room(key_size) + 1 + varint_size(scalar.size) + scalar.size
        if ensure(w, entry + 16) < 0:
            return -1
        p = put_entry(w.data + w.size, entry, key, key_size)
        p[0] = 0x12
        p = put_varint(p + 1, scalar.size)
        w.size = put_scalar(p, &scalar, item) - w.data
    return 0


cdef int put_items(Writer* w, PyObject* value, int level) noexcept:
    """The Values of a ListValue."""
    cdef Py_ssize_t i
    cdef PyObject* item
    cdef double number
    cdef uint8_t* p
    for i in range(PyList_GET_SIZE(value)):
        item = PyList_GET_ITEM(value, i)
        if not read_number(item, &number):
            if put_value(w, 0x0A, item, level + 1) < 0:
                return -1
            continue
        if ensure(w, 11) < 0:
            return -1
        p = w.data + w.size
        p[0], p[1], p[2] = 0x0A, 9, SCALAR_NUMBER
        put_double(p + 3, number)
        w.size += 11
    return 0


cdef int put_struct(Writer* w, uint8_t tag, PyObject* value, int level) noexcept:
    """A dict as a Struct field."""
    cdef Py_ssize_t start
    cdef int reserved = varint_size(PyDict_GET_SIZE(value) * 24)
    if level > w.limit or ensure(w, 8) < 0:
        return -1
    put_byte(w, tag)
    w.size += reserved
    start = w.size
    if put_members(w, value, level) < 0:
        return -1
    return close_length(w, start, reserved)
