# Events to MessagePack frames: the JSON's members in the JSON's order.

cdef inline uint8_t* put_big(uint8_t* p, uint8_t code, uint64_t number, int size) noexcept:
    """A code and a big-endian number of `size` bytes."""
    cdef int i
    p[0] = code
    for i in range(size):
        p[size - i] = number & 0xFF
        number >>= 8
    return p + 1 + size


cdef int put_head(Writer* w, uint64_t count, uint8_t fixed, int most, uint8_t code) noexcept:
    """The head of a map, an array or a str: in one byte up to `most`, else behind `code`."""
    cdef uint8_t* p
    if ensure(w, 8) < 0:
        return -1
    p = w.data + w.size
    if count <= <uint64_t> most:
        p[0] = fixed | count
        p += 1
    elif fixed == 0xA0 and count < 0x100:
        p = put_big(p, 0xD9, count, 1)
    elif count < 0x10000:
        p = put_big(p, code, count, 2)
    else:
        p = put_big(p, code + 1, count, 4)
    w.size = p - w.data
    return 0


cdef int pack_text(Writer* w, PyObject* text) noexcept:
    cdef Py_ssize_t size = utf8_size(text)
    if size < 0 or ensure(w, size + 8) < 0 or put_head(w, size, 0xA0, 31, 0xDA) < 0:
        return -1
    w.size = put_utf8(w.data + w.size, text) - w.data
    return 0


cdef int pack_int(Writer* w, long long number) noexcept:
    cdef uint8_t* p
    if ensure(w, 9) < 0:
        return -1
    p = w.data + w.size
    if -32 <= number < 128:
        p[0] = number & 0xFF
        p += 1
    elif number >= 0:
        if number < 0x100:
            p = put_big(p, 0xCC, number, 1)
        elif number < 0x10000:
            p = put_big(p, 0xCD, number, 2)
        elif number < 0x100000000:
            p = put_big(p, 0xCE, number, 4)
        else:
            p = put_big(p, 0xCF, number, 8)
    elif number >= -0x80:
        p = put_big(p, 0xD0, <uint64_t> number, 1)
    elif number >= -0x8000:
        p = put_big(p, 0xD1, <uint64_t> number, 2)
    elif number >= -0x80000000:
        p = put_big(p, 0xD2, <uint64_t> number, 4)
    else:
        p = put_big(p, 0xD3, <uint64_t> number, 8)
    w.size = p - w.data
    return 0


cdef int pack_float(Writer* w, double number) noexcept:
    cdef uint64_t bits
    if not is_finite(number) or ensure(w, 9) < 0:
        return -1
    memcpy(&bits, &number, 8)
    w.size = put_big(w.data + w.size, 0xCB, bits, 8) - w.data
    return 0


cdef int pack_value(Writer* w, PyObject* value, int level) noexcept:
    """Any JSON value; a dict or list stands at JSON level `level`."""
    cdef PyTypeObject* cls = Py_TYPE(value)
    cdef Py_ssize_t position = 0
    cdef PyObject* key
    cdef PyObject* item
    cdef long long number
    cdef int overflow
    if cls == &PyUnicode_Type:
        return pack_text(w, value)
    if cls == &PyLong_Type:
        number = int_of(value, &overflow)
        return -1 if overflow else pack_int(w, number)
    if cls == &PyFloat_Type:
        return pack_float(w, PyFloat_AS_DOUBLE(value))
    if cls == &PyList_Type:
        return pack_list(w, NULL, value, False, level)
    if cls == &PyDict_Type:
        if level > w.limit or put_head(w, PyDict_GET_SIZE(value), 0x80, 15, 0xDE) < 0:
            return -1
        while PyDict_Next(value, &position, &key, &item):
            if Py_TYPE(key) != &PyUnicode_Type or pack_text(w, key) < 0:
                return -1
            if pack_value(w, item, level + 1) < 0:
                return -1
        return 0
    if value != Py_None and cls != &PyBool_Type or ensure(w, 1) < 0:
        return -1
    put_byte(w, 0xC0 if value == Py_None else 0xC3 if value == Py_True else 0xC2)
    return 0


cdef int pack_list(Writer* w, Slot* slot, PyObject* value, bint is_model, int level) noexcept:
    """A list at JSON level `level`: of what `slot` holds, or of any JSON where that is NULL."""
    cdef Py_ssize_t i
    cdef PyObject* item
    cdef int done
    if level > w.limit or put_head(w, PyList_GET_SIZE(value), 0x90, 15, 0xDC) < 0:
        return -1
    for i in range(PyList_GET_SIZE(value)):
        item = PyList_GET_ITEM(value, i)
        if slot == NULL:
            done = pack_value(w, item, level + 1)
        elif slot.kind == TEXTS:
            done = pack_text(w, item) if Py_TYPE(item) == &PyUnicode_Type else -1
        elif slot.kind == OPERATIONS:
            done = pack_operation(w, item, level + 1)
        else:
            done = pack_object(w, slot, item, is_model, level + 1)
        if done < 0:
            return -1
    return 0


cdef int pack_key(Writer* w, Piece* piece) noexcept:
    # The key stands in the piece between `,"` and `":`.
    if put_head(w, piece.size - 4, 0xA0, 31, 0xDA) < 0 or ensure(w, piece.size) < 0:
        return -1
    put_bytes(w, piece.text + 2, piece.size - 4)
    return 0


cdef int pack_operation(Writer* w, PyObject* operation, int level) noexcept:
    """A patch operation, a dict or a model, at JSON level `level`."""
    cdef Operation found
    cdef Plan* plan
    cdef PyObject* value
    cdef int i, count = 0
    if not is_operation(w, operation, &found):
        return -1
    if Py_TYPE(operation) == &PyDict_Type:
        return pack_value(w, operation, level)
    plan = plan_of(Py_TYPE(operation))
    for i in range(plan.piece_count):
        count += member_of(&found, plan.pieces[i].slot) != NULL
    if level > w.limit or put_head(w, count, 0x80, 15, 0xDE) < 0:
        return -1
    for i in range(plan.piece_count):
        value = member_of(&found, plan.pieces[i].slot)
        if value == NULL:
            continue
        if pack_key(w, &plan.pieces[i]) < 0 or pack_value(w, value, level + 1) < 0:
            return -1
    return 0


cdef int pack_slot(Writer* w, Slot* slot, PyObject* value, bint is_model, int level) noexcept:
    """The value of a slot; a dict, list or object in it stands at JSON level `level`."""
    cdef int64_t number
    if slot.kind == TEXT or slot.kind == CHOICE:
        return pack_text(w, value) if is_textual(value, slot) else -1
    if slot.kind == INT:
        return -1 if read_int(value, slot, &number) < 0 else pack_int(w, number)
    if slot.kind == BOOL:
        return pack_value(w, value, level) if Py_TYPE(value) == &PyBool_Type else -1
    if slot.kind == ANY or slot.kind == OPEN or slot.kind == OBJECT:
        return pack_value(w, value, level) if is_open(value, slot) else -1
    if slot.kind == STRUCT or slot.kind == OUTCOME:
        return pack_object(w, slot, value, is_model, level)
    if slot.kind == CONTENT and Py_TYPE(value) == &PyUnicode_Type:
        return pack_text(w, value)
    return pack_list(w, slot, value, is_model, level) if is_list(value, slot) else -1


cdef int pack_object(Writer* w, Slot* slot, PyObject* value, bint is_model, int level) noexcept:
    cdef PyObject* values[MOST_SLOTS]
    cdef Plan* plan = plan_for(w, value, slot, is_model)
    cdef const char* base
    if plan == NULL:
        return -1
    base = values_of(plan, value, values)
    return pack_members(w, plan, base, level) if base != NULL else -1


cdef int pack_members(Writer* w, Plan* plan, const char* base, int level) noexcept:
    """An object at JSON level `level`."""
    cdef int i, count = 0
    cdef Piece* piece
    cdef Slot* slot
    cdef PyObject* value
    for i in range(plan.piece_count):
        if plan.pieces[i].slot >= 0:
            slot = &plan.slots[plan.pieces[i].slot]
            value = value_at(base, slot)
            if value == NULL:
                return -1
            if value == Py_None and slot.optional:
                continue
        count += 1
    if level > w.limit or put_head(w, count, 0x80, 15, 0xDE) < 0:
        return -1
    for i in range(plan.piece_count):
        piece = &plan.pieces[i]
        slot = NULL
        value = plan.tag
        if piece.slot >= 0:
            slot = &plan.slots[piece.slot]
            value = value_at(base, slot)
            if value == Py_None and slot.optional:
                continue
        if pack_key(w, piece) < 0:
            return -1
        if slot == NULL:
            if pack_text(w, value) < 0:
                return -1
        elif pack_slot(w, slot, value, plan.is_model, level + 1) < 0:
            return -1
    return 0


cdef int put_msgpack(Writer* w, PyObject* event, Py_ssize_t max_frame_size) noexcept:
    """An event as a whole frame, or -1 with nothing written where it is odd."""
    cdef PyObject* values[MOST_SLOTS]
    cdef const char* base
    cdef Plan* plan = plan_of(Py_TYPE(event))
    cdef Py_ssize_t start = w.size
    if plan == NULL:
        w.unknown = Py_TYPE(event)
        return -1
    if not plan.is_event or ensure(w, 16) < 0:
        return -1
    base = values_of(plan, event, values)
    if base == NULL:
        return -1
    w.size += 4
    if pack_members(w, plan, base, 1) < 0 or w.size - start > max_frame_size:
        w.size = start
        return -1
    put_prefix(w, start)
    return 0
