# Events to protobuf frames.

DEF BASE_TIMESTAMP = 0x10
DEF BASE_RAW_EVENT = 0x1A
DEF BASE_METADATA = 0x22


cdef inline const char* values_of(Plan* plan, PyObject* instance, PyObject** values) noexcept:
    """Where an object's values stand, by the offsets of its slots; NULL where it is odd."""
    if not plan.is_model:
        return <const char*> instance
    return <const char*> values if gather_model(plan, instance, values) == 0 else NULL


cdef inline PyObject* value_at(const char* base, Slot* slot) noexcept:
    return (<PyObject**> (base + slot.offset))[0]


cdef int gather_model(Plan* plan, PyObject* instance, PyObject** values) noexcept:
    cdef int i = 0
    cdef Py_ssize_t position = 0
    cdef PyObject* key
    cdef PyObject* value
    cdef PyObject* attributes
    cdef Attribute* attribute
    cdef PyObject* absent = NULL if plan.is_operation else Py_None
    cdef PyObject* extra = (<PyObject**> (<char*> instance + plan.extra_offset))[0]
    if extra != NULL and extra != Py_None:
        if Py_TYPE(extra) != &PyDict_Type or PyDict_GET_SIZE(extra):
            return -1
    attributes = PyObject_GenericGetDict(instance, NULL)
    if attributes == NULL:
        PyErr_Clear()
        return -1
    # The instance keeps it alive.
    Py_DECREF(attributes)
    for i in range(plan.slot_count):
        values[i] = absent
    i = 0
    while PyDict_Next(attributes, &position, &key, &value):
        if i == plan.attribute_count:
            return -1
        attribute = &plan.attributes[i]
        if key != attribute.name:
            if Py_TYPE(key) != &PyUnicode_Type or PyUnicode_Compare(key, attribute.name) != 0:
                return -1
        i += 1
        if attribute.slot < 0:
            if value != plan.tag_member and value != plan.tag:
                if Py_TYPE(value) != &PyUnicode_Type or PyUnicode_Compare(value, plan.tag) != 0:
                    return -1
        elif value != Py_None or not attribute.none_is_absent:
            values[attribute.slot] = value
        elif not plan.is_operation and not plan.slots[attribute.slot].optional:
            return -1
    return 0 if i == plan.attribute_count else -1


cdef Plan* plan_for(Writer* w, PyObject* value, Slot* slot, bint is_model) noexcept:
    """The table of an object that may stand in a slot, or NULL."""
    cdef Plan* plan = plan_of(Py_TYPE(value))
    if plan == NULL:
        w.unknown = Py_TYPE(value)
        return NULL
    if plan.is_model != is_model or not is_member(plan.struct_cls, slot.members):
        return NULL
    return plan


cdef int read_int(PyObject* value, Slot* slot, int64_t* number) noexcept:
    cdef int overflow
    if Py_TYPE(value) != &PyLong_Type:
        return -1
    number[0] = int_of(value, &overflow)
    return -1 if overflow or number[0] < slot.low or number[0] > slot.high else 0


cdef bint is_textual(PyObject* value, Slot* slot) noexcept:
    """Whether a value is text that may stand in a slot."""
    if Py_TYPE(value) != &PyUnicode_Type:
        return False
    return slot.kind != CHOICE or is_choice(value, slot.choices)


cdef bint is_open(PyObject* value, Slot* slot) noexcept:
    """Whether a value may stand in a slot of open JSON, as far as its own type says."""
    if slot.kind == OBJECT:
        return Py_TYPE(value) == &PyDict_Type
    return slot.kind == ANY or value != Py_None


cdef bint is_list(PyObject* value, Slot* slot) noexcept:
    return Py_TYPE(value) == &PyList_Type and not (slot.nonempty and not PyList_GET_SIZE(value))


cdef int put_int(Writer* w, uint8_t tag, int64_t number) noexcept:
    if ensure(w, 11) < 0:
        return -1
    put_byte(w, tag)
    w.size = put_varint(w.data + w.size, <uint64_t> number) - w.data
    return 0


cdef int put_fields(Writer* w, Plan* plan, const char* base, int level) noexcept:
    """The fields of an object at JSON level `level`, without those of base_event."""
    cdef int i
    cdef Op* op
    cdef Slot* slot
    cdef PyObject* value
    for i in range(plan.op_count):
        op = &plan.ops[i]
        if op.kind == TAG:
            if put_text(w, op.tag, plan.tag) < 0:
                return -1
            continue
        slot = &plan.slots[op.slot]
        value = value_at(base, slot)
        if value == Py_None and slot.optional:
            continue
        if value == NULL:
            return -1
        if op.kind == TEXT and slot.kind != CONTENT:
            if not is_textual(value, slot):
                return -1
            if op.required and not PyUnicode_GET_LENGTH(value):
                continue
            if put_text(w, op.tag, value) < 0:
                return -1
        elif put_field(w, plan, op, slot, value, level) < 0:
            return -1
    return 0


cdef int put_field(
    Writer* w, Plan* plan, Op* op, Slot* slot, PyObject* value, int level
) noexcept:
    cdef int64_t number
    if op.kind == VALUE:
        return put_value(w, op.tag, value, level + 1) if is_open(value, slot) else -1
    if op.kind == STRUCT:
        return put_struct(w, op.tag, value, level + 1) if is_open(value, slot) else -1
    if op.kind == INT:
        return -1 if read_int(value, slot, &number) < 0 else put_int(w, op.tag, number)
    if op.kind == BOOL:
        if Py_TYPE(value) != &PyBool_Type:
            return -1
        return put_int(w, op.tag, value == Py_True)
    if op.kind == MESSAGE:
        return put_message(w, op.tag, value, slot, plan.is_model, False, level + 1)
    if op.kind == ARM:
        return put_message(w, op.tag, value, slot, plan.is_model, True, level + 1)
    if op.kind == TEXT:
        # Content: its parts are another field's.
        if Py_TYPE(value) == &PyUnicode_Type:
            return put_text(w, op.tag, value)
        return 0 if Py_TYPE(value) == &PyList_Type else -1
    if op.kind == ARMS and Py_TYPE(value) == &PyUnicode_Type:
        return 0
    if op.kind == OUTCOME:
        return put_outcome(w, plan, op, slot, value, level + 1)
    if op.kind == MEMBER:
        return put_member(w, op, value, level + 1)
    return put_list(w, op.kind, op.tag, slot, value, plan.is_model, level + 1)


cdef int put_list(
    Writer* w, int kind, uint8_t tag, Slot* slot, PyObject* value, bint is_model, int level
) noexcept:
    """A list, itself at JSON level `level`, as a repeated field."""
    cdef Py_ssize_t i
    cdef PyObject* item
    cdef int done
    if not is_list(value, slot) or level > w.limit:
        return -1
    for i in range(PyList_GET_SIZE(value)):
        item = PyList_GET_ITEM(value, i)
        if kind == TEXTS:
            done = put_text(w, tag, item) if Py_TYPE(item) == &PyUnicode_Type else -1
        elif kind == OPERATIONS:
            done = put_operation(w, tag, item, level + 1)
        else:
            done = put_message(w, tag, item, slot, is_model, kind == ARMS, level + 1)
        if done < 0:
            return -1
    return 0


cdef int put_message(
    Writer* w, uint8_t tag, PyObject* value, Slot* slot, bint is_model, bint in_arm, int level
) noexcept:
    """An object as a message, in the arm of a oneof where `in_arm` says so."""
    cdef PyObject* values[MOST_SLOTS]
    cdef Plan* plan = plan_for(w, value, slot, is_model)
    cdef const char* base
    cdef Py_ssize_t start, inner = 0
    if plan == NULL or level > w.limit or ensure(w, 8) < 0:
        return -1
    base = values_of(plan, value, values)
    if base == NULL:
        return -1
    put_byte(w, tag)
    w.size += 1
    start = w.size
    if in_arm:
        put_bytes(w, plan.arm, plan.arm_size)
        w.size += 1
        inner = w.size
    if put_fields(w, plan, base, level) < 0:
        return -1
    if in_arm and close_length(w, inner, 1) < 0:
        return -1
    return close_length(w, start, 1)


cdef int put_outcome(
    Writer* w, Plan* plan, Op* op, Slot* slot, PyObject* value, int level
) noexcept:
    """The outcome's name; what it holds follows as fields of the event."""
    cdef PyObject* values[MOST_SLOTS]
    cdef Plan* outcome = plan_for(w, value, slot, plan.is_model)
    if outcome == NULL or level > w.limit or values_of(outcome, value, values) == NULL:
        return -1
    return put_text(w, op.tag, outcome.tag)


cdef int put_member(Writer* w, Op* op, PyObject* value, int level) noexcept:
    """A list of the outcome's, as a field of the event. put_outcome has looked at the rest."""
    cdef PyObject* values[MOST_SLOTS]
    cdef Plan* outcome = plan_of(Py_TYPE(value))
    cdef const char* base = values_of(outcome, value, values)
    cdef Slot* slot
    cdef PyObject* item
    cdef int i
    for i in range(outcome.slot_count):
        slot = &outcome.slots[i]
        if slot.key == op.key:
            item = value_at(base, slot)
            if item == Py_None and slot.optional:
                return 0
            if item == NULL:
                return -1
            return put_list(w, slot.kind, op.tag, slot, item, outcome.is_model, level + 1)
    return 0


cdef struct Operation:
    int number
    PyObject* name
    PyObject* path
    PyObject* origin
    PyObject* value
    bint extra      # whether it holds more


cdef int read_members(PyObject* operation, PyObject** values) noexcept:
    """The op, path, from and value of a dict, NULL where they are absent; 1 where there is more."""
    cdef Py_ssize_t position = 0
    cdef PyObject* key
    cdef PyObject* item
    cdef int more = 0
    values[0] = values[1] = values[2] = values[3] = NULL
    while PyDict_Next(operation, &position, &key, &item):
        if Py_TYPE(key) != &PyUnicode_Type:
            return -1
        if PyUnicode_Compare(key, OP_KEY) == 0:
            values[0] = item
        elif PyUnicode_Compare(key, PATH_KEY) == 0:
            values[1] = item
        elif PyUnicode_Compare(key, FROM_KEY) == 0:
            values[2] = item
        elif PyUnicode_Compare(key, VALUE_KEY) == 0:
            values[3] = item
        else:
            more = 1
    return more


cdef int read_operation(Writer* w, PyObject* operation, Operation* found) noexcept:
    """A patch operation as RFC 6902 wants it, a dict or a model; -1 where it is not so."""
    cdef PyObject* values[MOST_SLOTS]
    cdef PyObject* name
    cdef Plan* plan
    cdef int more = 0
    if Py_TYPE(operation) == &PyDict_Type:
        more = read_members(operation, values)
        if more < 0:
            return -1
    else:
        plan = plan_of(Py_TYPE(operation))
        if plan == NULL:
            w.unknown = Py_TYPE(operation)
        if plan == NULL or not plan.is_operation or gather_model(plan, operation, values) < 0:
            return -1
    name, found.path, found.origin, found.value = values[0], values[1], values[2], values[3]
    found.name = name
    found.extra = more
    if name == NULL or found.path == NULL or Py_TYPE(name) != &PyUnicode_Type:
        return -1
    for found.number in range(6):
        if PyUnicode_Compare(name, operation_names[found.number]) == 0:
            break
    else:
        return -1
    if found.origin == NULL and needs_origin(found.number):
        return -1
    return -1 if found.value == NULL and needs_value(found.number) else 0


cdef int put_operation(Writer* w, uint8_t tag, PyObject* operation, int level) noexcept:
    """A patch operation that is valid and holds nothing that protobuf has no place for."""
    cdef Operation found
    cdef Py_ssize_t start
    if level > w.limit or read_operation(w, operation, &found) < 0 or found.extra:
        return -1
    if ensure(w, 16) < 0:
        return -1
    put_byte(w, tag)
    w.size += 1
    start = w.size
    if found.number and put_int(w, 0x08, found.number) < 0:
        return -1
    if put_pointer(w, 0x12, found.path, True) < 0:
        return -1
    if found.origin != NULL:
        if put_pointer(w, 0x1A, found.origin, needs_origin(found.number)) < 0:
            return -1
    if found.value != NULL and put_value(w, 0x22, found.value, level + 1) < 0:
        return -1
    return close_length(w, start, 1)


cdef inline bint needs_value(int operation) noexcept:
    return operation == 0 or operation == 2 or operation == 5


cdef inline bint needs_origin(int operation) noexcept:
    return operation == 3 or operation == 4


cdef int put_pointer(Writer* w, uint8_t tag, PyObject* text, bint checked) noexcept:
    cdef Py_ssize_t size, end
    if Py_TYPE(text) != &PyUnicode_Type:
        return -1
    size = utf8_size(text)
    if not size and tag == 0x12:
        return 0
    if put_text(w, tag, text) < 0:
        return -1
    end = w.size
    return 0 if not checked or is_pointer(w.data + end - size, size) else -1


cdef int put_base(Writer* w, Plan* plan, const char* base) noexcept:
    """base_event, which comes first and is always there."""
    cdef Py_ssize_t start = w.size + 2
    cdef int64_t number
    cdef PyObject* timestamp = value_at(base, &plan.slots[plan.timestamp])
    cdef PyObject* raw_event = value_at(base, &plan.slots[plan.raw_event])
    cdef PyObject* metadata = value_at(base, &plan.slots[plan.metadata])
    put_bytes(w, plan.base, plan.base_size)
    if timestamp == Py_None and raw_event == Py_None and metadata == Py_None:
        return 0
    if timestamp == NULL or raw_event == NULL or metadata == NULL:
        return -1
    if timestamp != Py_None:
        if read_int(timestamp, &plan.slots[plan.timestamp], &number) < 0:
            return -1
        put_byte(w, BASE_TIMESTAMP)
        w.size = put_varint(w.data + w.size, <uint64_t> number) - w.data
    if raw_event != Py_None and put_value(w, BASE_RAW_EVENT, raw_event, 2) < 0:
        return -1
    if metadata != Py_None:
        if Py_TYPE(metadata) != &PyDict_Type or put_struct(w, BASE_METADATA, metadata, 2) < 0:
            return -1
    return close_length(w, start, 1)


cdef int put_frame(Writer* w, PyObject* event, Py_ssize_t max_frame_size) noexcept:
    """An event as a whole frame, or -1 with nothing written where it is odd."""
    cdef PyObject* values[MOST_SLOTS]
    cdef const char* base
    cdef Plan* plan = plan_of(Py_TYPE(event))
    cdef Py_ssize_t frame = w.size, start
    cdef int reserved
    if plan == NULL:
        w.unknown = Py_TYPE(event)
        return -1
    if not plan.is_event or w.limit < 1 or ensure(w, 64) < 0:
        return -1
    base = values_of(plan, event, values)
    if base == NULL:
        return -1
    reserved = 2 if plan.nests else 1
    w.size += 4
    put_bytes(w, plan.arm, plan.arm_size)
    w.size += reserved
    start = w.size
    if (
        put_base(w, plan, base) < 0
        or put_fields(w, plan, base, 1) < 0
        or close_length(w, start, reserved) < 0
        or w.size - frame > max_frame_size
    ):
        w.size = frame
        return -1
    put_prefix(w, frame)
    return 0


cdef inline void put_prefix(Writer* w, Py_ssize_t frame) noexcept:
    """The length of what follows the four bytes at `frame`."""
    cdef Py_ssize_t size = w.size - frame - 4
    w.data[frame] = size >> 24
    w.data[frame + 1] = size >> 16 & 0xFF
    w.data[frame + 2] = size >> 8 & 0xFF
    w.data[frame + 3] = size & 0xFF
