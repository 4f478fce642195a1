# Protobuf frames to events.

DEF TIMESTAMP_NUMBER = 20
DEF RAW_EVENT_NUMBER = 21
DEF METADATA_NUMBER = 22

cdef PyObject* read_integer(uint64_t bits, int64_t low, int64_t high) noexcept:
    cdef int64_t number = <int64_t> bits
    cdef PyObject* value
    if number < low or number > high:
        return NULL
    value = PyLong_FromLongLong(number)
    if value == NULL:
        PyErr_Clear()
    return value


cdef bint is_accepted(PyObject* value, int accepts) noexcept:
    if accepts == OBJECT:
        return Py_TYPE(value) == &PyDict_Type
    return accepts == ANY or value != Py_None


cdef PyObject* read_delimited(
    Reader* r, Part* part, const uint8_t* p, const uint8_t* end, int level
) noexcept:
    """What a length-delimited field of a message at JSON level `level` holds."""
    cdef PyObject* value
    if part.kind == TEXT:
        if part.recurs:
            return read_repeated_text(r, p, end - p)
        return read_text(p, end - p)
    if part.kind == CHOICE:
        return read_choice(p, end - p, part.choices)
    if part.kind == MESSAGE:
        return read_message(r, &message_table[part.message], p, end, level + part.level)
    if part.kind == ARM:
        return read_arm(r, &message_table[part.message], p, end, level + part.level)
    if part.kind == OPERATION:
        return read_patch_operation(r, p, end, level + part.level)
    if part.kind == STRUCT:
        return read_struct(r, p, end, level + part.level)
    if part.kind != VALUE:
        return NULL
    value = read_value(r, p, end, level + part.level)
    if value != NULL and not is_accepted(value, part.accepts):
        Py_DECREF(value)
        return NULL
    return value


cdef bint read_fields(
    Reader* r, Message* message, const uint8_t* p, const uint8_t* end, int level, char* base
) noexcept:
    """All fields of a message, each known, once, and of its own wire type, into their places."""
    cdef int number
    cdef uint8_t tag
    cdef Part* part
    cdef Py_ssize_t size
    cdef uint64_t bits
    cdef PyObject* value
    cdef PyObject** place
    while p < end:
        tag = p[0]
        number = tag >> 3
        if number >= MOST_FIELDS:
            return False
        part = &message.parts[number]
        place = <PyObject**> (base + message.places[number])
        if not part.known or (place[0] != NULL and not part.repeated):
            return False
        if tag & 7 == 2:
            p = read_size(p + 1, end, &size)
            if p == NULL:
                return False
            value = read_delimited(r, part, p, p + size, level)
            p += size
        elif tag & 7 == 0:
            p = read_varint(p + 1, end, 10, &bits)
            if p == NULL:
                return False
            value = read_scalar(part, bits)
        else:
            return False
        if value == NULL:
            return False
        if not part.repeated:
            place[0] = value
            continue
        if place[0] == NULL:
            place[0] = PyList_New(0)
        if place[0] == NULL:
            PyErr_Clear()
            Py_DECREF(value)
            return False
        if append(place[0], value) < 0:
            PyErr_Clear()
            return False
    return True


cdef PyObject* read_scalar(Part* part, uint64_t bits) noexcept:
    cdef PyObject* value
    if part.kind == INT:
        return read_integer(bits, part.low, part.high)
    if part.kind != BOOL or bits > 1:
        return NULL
    value = Py_True if bits else Py_False
    Py_INCREF(value)
    return value


cdef PyObject* default_for(Source* source) noexcept:
    """What a missing field reads as, a new reference; NULL where it may not be missing."""
    cdef PyObject* value
    if source.absent == NONE:
        value = Py_None
    elif source.absent == EMPTY_TEXT:
        value = empty_text
    elif source.absent == EMPTY_LIST:
        value = PyList_New(0)
        if value == NULL:
            PyErr_Clear()
        return value
    else:
        return NULL
    Py_INCREF(value)
    return value


cdef PyObject* complete(PyObject* instance, Build* build) noexcept:
    """A Struct whose fields are in place, with what was missing; NULL, and the Struct is gone,
    where something may not be missing."""
    cdef Source* source
    cdef PyObject** place
    cdef bint tracked = False
    cdef int i
    for i in range(build.count):
        source = &build.sources[i]
        place = <PyObject**> (<char*> instance + source.offset)
        if place[0] == NULL:
            place[0] = default_for(source)
            if place[0] == NULL:
                Py_DECREF(instance)
                return NULL
        # As msgspec judges what the collector has to see.
        if source.may_nest and PyObject_IS_GC(place[0]):
            tracked = True
    if tracked:
        PyObject_GC_Track(instance)
    return instance


cdef PyObject* read_message(
    Reader* r, Message* message, const uint8_t* p, const uint8_t* end, int level
) noexcept:
    """A message as the Struct at JSON level `level`."""
    return read_with_base(r, message, p, p, end, level, -1)


cdef PyObject* read_with_base(
    Reader* r, Message* message, const uint8_t* base_event, const uint8_t* p, const uint8_t* end,
    int level, int enum_number
) noexcept:
    """A message; with an `enum_number`, the base_event before it too."""
    cdef PyObject* values[MOST_NUMBERS]
    cdef PyObject* instance = NULL
    cdef char* base
    if level > r.limit:
        return NULL
    if message.is_direct:
        instance = new_instance(build_table[message.build].cls)
        if instance == NULL:
            PyErr_Clear()
            return NULL
        base = <char*> instance
    else:
        memset(values, 0, sizeof(values))
        base = <char*> values
    if (
        (enum_number >= 0 and not read_base(r, message, base_event, p, enum_number, base))
        or not read_fields(r, message, p, end, level, base)
    ):
        if message.is_direct:
            Py_DECREF(instance)
        else:
            drop(values)
        return NULL
    if message.is_direct:
        return complete(instance, &build_table[message.build])
    instance = choose(message, values)
    drop(values)
    return instance


cdef void drop(PyObject** values) noexcept:
    cdef int number
    for number in range(MOST_NUMBERS):
        Py_XDECREF(values[number])


cdef PyObject* choose(Message* message, PyObject** values) noexcept:
    """The Struct of several that a message is, or one that its fields do not fill one by one."""
    cdef Build* build = &build_table[message.build]
    cdef PyObject* instance
    cdef uint32_t seen = 0
    cdef int i
    for i in range(MOST_NUMBERS):
        if values[i] != NULL:
            seen |= <uint32_t> 1 << i
    if message.chooser:
        build = build_named(message.build, message.build_count, values[message.chooser])
    if build == NULL or seen & ~build.allowed or build.needed & ~seen:
        return NULL
    instance = build_struct(values, build)
    if instance != NULL:
        # The outcome took what it holds; the rest belongs to another outcome, or to none.
        for i in range(MOST_NUMBERS):
            if values[i] != NULL and message.outcome_fields >> i & 1:
                Py_DECREF(instance)
                return NULL
    return instance


cdef Build* build_named(int first, int count, PyObject* name) noexcept:
    cdef int i
    for i in range(first, first + count):
        if build_table[i].tag == name:
            return &build_table[i]
    return NULL


cdef PyObject* build_struct(PyObject** values, Build* build) noexcept:
    """A Struct that takes its values out of `values`."""
    cdef PyObject* instance = new_instance(build.cls)
    cdef PyObject** place
    cdef Source* source
    cdef int i, number
    if instance == NULL:
        PyErr_Clear()
        return NULL
    for i in range(build.count):
        source = &build.sources[i]
        place = <PyObject**> (<char*> instance + source.offset)
        number = source.number
        if source.outcomes >= 0:
            if values[number] == NULL:
                continue
            place[0] = build_outcome(values, source)
            if place[0] == NULL:
                Py_DECREF(instance)
                return NULL
            continue
        if source.parts and values[source.parts] != NULL:
            if values[number] != NULL:
                Py_DECREF(instance)
                return NULL
            number = source.parts
        place[0], values[number] = values[number], NULL
    return complete(instance, build)


cdef PyObject* build_outcome(PyObject** values, Source* source) noexcept:
    cdef Build* build = build_named(source.outcomes, source.outcome_count, values[source.number])
    return build_struct(values, build) if build != NULL else NULL


cdef PyObject* read_arm(
    Reader* r, Message* oneof, const uint8_t* p, const uint8_t* end, int level
) noexcept:
    """The Struct in a oneof of one arm."""
    cdef Py_ssize_t size
    cdef int number
    if p >= end or p[0] & 7 != 2 or p[0] >> 3 >= MOST_FIELDS or oneof.arms[p[0] >> 3] < 0:
        return NULL
    number = oneof.arms[p[0] >> 3]
    p = read_size(p + 1, end, &size)
    if p == NULL or p + size != end:
        return NULL
    return read_message(r, &message_table[number], p, end, level)


cdef PyObject* read_patch_operation(
    Reader* r, const uint8_t* p, const uint8_t* end, int level
) noexcept:
    """A patch operation: op, path, from and value, in this order."""
    cdef uint64_t number = 0
    cdef PyObject* path = empty_text
    cdef PyObject* origin = NULL
    cdef PyObject* value = NULL
    cdef PyObject* members = NULL
    cdef Py_ssize_t size
    if level > r.limit:
        return NULL
    Py_INCREF(path)
    if p < end and p[0] == 0x08:
        p = read_varint(p + 1, end, 1, &number)
        if p == NULL or number > 5:
            p = NULL
    if p != NULL and p < end and p[0] == 0x12:
        p = read_size(p + 1, end, &size)
        if p != NULL:
            Py_DECREF(path)
            path = read_text(p, size)
            p = p + size if path != NULL and is_pointer(p, size) else NULL
    if p != NULL and p < end and p[0] == 0x1A:
        p = read_size(p + 1, end, &size)
        if p != NULL:
            origin = read_text(p, size)
            if origin == NULL or (needs_origin(number) and not is_pointer(p, size)):
                p = NULL
            else:
                p += size
    if p != NULL and p < end and p[0] == 0x22:
        p = read_size(p + 1, end, &size)
        if p != NULL:
            value = read_value(r, p, p + size, level + 1)
            p = p + size if value != NULL else NULL
    if p == end and not (needs_origin(number) and origin == NULL):
        if not (needs_value(number) and value == NULL):
            members = new_operation(operation_names[number], path, origin, value)
    Py_XDECREF(path)
    Py_XDECREF(origin)
    Py_XDECREF(value)
    return members


cdef PyObject* new_operation(
    PyObject* name, PyObject* path, PyObject* origin, PyObject* value
) noexcept:
    cdef PyObject* members = PyDict_New()
    if members != NULL:
        if (
            PyDict_SetItem(members, OP_KEY, name) < 0
            or PyDict_SetItem(members, PATH_KEY, path) < 0
            or (origin != NULL and PyDict_SetItem(members, FROM_KEY, origin) < 0)
            or (value != NULL and PyDict_SetItem(members, VALUE_KEY, value) < 0)
        ):
            Py_DECREF(members)
            members = NULL
    if members == NULL:
        PyErr_Clear()
    return members


cdef bint read_base(
    Reader* r, Message* message, const uint8_t* p, const uint8_t* end, int enum_number, char* base
) noexcept:
    """base_event: its type, which the arm has to agree with, then the rest in order."""
    cdef uint64_t number = 0
    cdef Py_ssize_t size
    cdef PyObject* value
    if p < end and p[0] == 0x08:
        p = read_varint(p + 1, end, 1, &number)
        if p == NULL:
            return False
    if number != <uint64_t> enum_number:
        return False
    if p < end and p[0] == BASE_TIMESTAMP:
        p = read_varint(p + 1, end, 10, &number)
        if p == NULL:
            return False
        value = read_integer(number, -(MOST_EXACT - 1), MOST_EXACT - 1)
        if value == NULL:
            return False
        (<PyObject**> (base + message.places[TIMESTAMP_NUMBER]))[0] = value
    if p < end and p[0] == BASE_RAW_EVENT:
        p = read_size(p + 1, end, &size)
        if p == NULL:
            return False
        value = read_value(r, p, p + size, 2)
        if value == NULL:
            return False
        (<PyObject**> (base + message.places[RAW_EVENT_NUMBER]))[0] = value
        if value == Py_None:
            return False
        p += size
    if p < end and p[0] == BASE_METADATA:
        p = read_size(p + 1, end, &size)
        if p == NULL:
            return False
        value = read_struct(r, p, p + size, 2)
        if value == NULL:
            return False
        (<PyObject**> (base + message.places[METADATA_NUMBER]))[0] = value
        p += size
    return p == end


cdef PyObject* read_event(Reader* r, const uint8_t* p, const uint8_t* end) noexcept:
    """The event of a payload, or NULL for any that is not canonical and clean."""
    cdef uint64_t tag
    cdef Py_ssize_t size
    cdef int arm
    cdef const uint8_t* base_event
    p = read_varint(p, end, 2, &tag)
    if p == NULL or tag & 7 != 2 or tag >> 3 >= MOST_ARMS:
        return NULL
    arm = tag >> 3
    p = read_size(p, end, &size)
    if p == NULL or p + size != end or event_messages[arm] < 0:
        return NULL
    if p >= end or p[0] != 0x0A:
        return NULL
    base_event = read_size(p + 1, end, &size)
    if base_event == NULL:
        return NULL
    return read_with_base(
        r, &message_table[event_messages[arm]], base_event, base_event + size, end, 1,
        event_numbers[arm],
    )
