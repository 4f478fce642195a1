# The tables: a Plan for each class that is written, a Message for each that is read.

DEF MOST_SLOTS = 12
DEF MOST_OPS = 16
DEF MOST_NUMBERS = 24
DEF TYPE_TABLE = 2048
DEF MOST_TYPES = 1024
DEF MOST_BUILDS = 128
DEF MOST_ARMS = 32
# A field number that fits a tag of one byte.
DEF MOST_FIELDS = 16

cdef enum Kind:
    TEXT, CHOICE, INT, BOOL, ANY, OPEN, OBJECT, STRUCT, STRUCTS, TEXTS, OPERATIONS, CONTENT
    OUTCOME, VALUE, MESSAGE, MESSAGES, ARM, ARMS, TAG, MEMBER, OPERATION

cdef enum Absent:
    NONE, EMPTY_TEXT, EMPTY_LIST, REFUSE

cdef struct Slot:
    int kind
    bint optional
    bint nonempty
    Py_ssize_t offset   # from the instance, or from the values gathered of a model
    PyObject* key       # borrowed from the tables, which live as long as the module
    PyObject* choices   # a tuple
    PyObject* members   # a tuple of Struct classes
    int64_t low
    int64_t high

cdef struct Op:
    int kind
    uint8_t tag
    int slot
    bint required
    PyObject* key

cdef struct Attribute:
    # One attribute of a model, in the order of its __dict__; slot -1 is the tag.
    PyObject* name
    int slot
    bint none_is_absent

cdef struct Piece:
    # One member of the JSON text: `,"key":`.
    int slot
    char text[40]
    int size

cdef struct Plan:
    PyTypeObject* cls
    PyTypeObject* struct_cls
    bint is_event
    bint is_model
    bint is_operation   # a model of a patch operation; its slots are OP_SLOT and so on
    PyObject* tag
    PyObject* tag_member
    uint8_t arm[2]
    int arm_size
    uint8_t enum_number
    int slot_count
    Slot slots[MOST_SLOTS]
    int op_count
    Op ops[MOST_OPS]
    int piece_count
    Piece pieces[MOST_SLOTS + 1]
    int attribute_count
    Attribute attributes[MOST_SLOTS + 1]
    Py_ssize_t extra_offset
    int timestamp
    int raw_event
    int metadata
    uint8_t base[4]     # base_event where it holds only the type
    int base_size
    bint nests
    bint judged         # to be looked at by the Python codec on the text wires

cdef struct Part:
    int kind
    bint known
    bint repeated
    int accepts
    int message
    PyObject* choices
    int64_t low
    int64_t high
    bint recurs
    int level

cdef struct Source:
    Py_ssize_t offset
    int number
    int parts
    int absent
    bint may_nest
    int outcomes        # index of the first outcome's Build, or -1
    int outcome_count

cdef struct Build:
    PyTypeObject* cls
    PyObject* tag
    uint32_t allowed
    uint32_t needed
    int count
    Source sources[MOST_SLOTS]

cdef struct Message:
    Part parts[MOST_FIELDS]
    int chooser
    uint32_t outcome_fields
    # Where the values of its fields go, by number: in a new Struct where `is_direct`, else in an
    # array of MOST_NUMBERS.
    int places[MOST_NUMBERS]
    bint is_direct
    int build
    int build_count
    int arms[MOST_FIELDS]   # message index by number, or -1

cdef Plan* type_table[TYPE_TABLE]
cdef int type_count = 0
cdef Message* message_table = NULL
cdef Build* build_table = NULL
cdef int build_count = 0
cdef int event_messages[MOST_ARMS]
cdef int event_numbers[MOST_ARMS]
cdef PyObject* operation_names[6]
cdef PyObject* empty_text = NULL
cdef PyObject* OP_KEY
cdef PyObject* PATH_KEY
cdef PyObject* FROM_KEY
cdef PyObject* VALUE_KEY

# What the tables point into stays alive here.
cdef list kept = []
# Told of each class that no table knows; it calls add_model for it.
cdef object resolve = None
cdef dict class_specs = {}

cdef dict KINDS = {
    "text": TEXT, "choice": CHOICE, "int": INT, "bool": BOOL, "any": ANY, "open": OPEN,
    "object": OBJECT, "struct": STRUCT, "structs": STRUCTS, "texts": TEXTS,
    "operations": OPERATIONS, "content": CONTENT, "outcome": OUTCOME, "value": VALUE,
    "message": MESSAGE, "messages": MESSAGES, "arm": ARM, "arms": ARMS, "tag": TAG,
    "member": MEMBER, "operation": OPERATION,
}
cdef dict ABSENCES = {"none": NONE, "text": EMPTY_TEXT, "list": EMPTY_LIST, "refuse": REFUSE}


cdef int below(int most, int number) except -1:
    """`number`, which has to have a place in a table of `most`."""
    if not 0 <= number < most:
        raise ValueError(f"the tables have no place for {number}")
    return number


cdef PyObject* keep(object value):
    kept.append(value)
    return <PyObject*> value


cdef PyObject* keep_text(str text):
    from sys import intern
    return keep(intern(text))


cdef Plan** place_of(PyTypeObject* cls) noexcept:
    """Where a type stands in the open-addressed table, or where it would."""
    cdef size_t i = (<size_t> cls >> 4) % TYPE_TABLE
    while type_table[i] != NULL and type_table[i].cls != cls:
        i = (i + 1) % TYPE_TABLE
    return &type_table[i]


cdef inline Plan* plan_of(PyTypeObject* cls) noexcept:
    return place_of(cls)[0]


cdef Py_ssize_t offset_of(object cls, str name) except -2:
    member = getattr(cls, name)
    cdef Py_ssize_t offset = slot_offset(<PyObject*> member)
    if offset < 0:
        raise TypeError(f"{cls.__name__}.{name} is no slot")
    return offset


cdef int fill_slot(Slot* slot, object spec, Py_ssize_t offset) except -1:
    slot.kind = KINDS[spec.kind]
    slot.optional = spec.optional
    slot.nonempty = spec.nonempty
    slot.offset = offset
    slot.key = keep_text(spec.key)
    slot.choices = keep(tuple(spec.choices))
    slot.members = keep(tuple(spec.members))
    slot.low = spec.low
    slot.high = spec.high
    return 0


cdef int fill_piece(Piece* piece, int slot, str key) except -1:
    text = f',"{key}":'.encode()
    if len(text) > 40:
        raise ValueError(f"the key {key!r} is too long")
    piece.slot = slot
    piece.size = len(text)
    memcpy(piece.text, <char*> text, piece.size)
    return 0


cdef Plan* new_plan(object spec, object cls) except NULL:
    """A Plan for `cls`, filled in from what is known of a Struct, which may be another class."""
    cdef Plan* plan = <Plan*> calloc(1, sizeof(Plan))
    cdef int i
    if plan == NULL:
        raise MemoryError
    plan.cls = <PyTypeObject*> keep(cls)
    plan.struct_cls = <PyTypeObject*> keep(spec.cls)
    plan.is_event = spec.is_event
    plan.tag = keep_text(spec.tag) if spec.tag else NULL
    plan.arm_size = 0
    if spec.arm:
        plan.arm_size = put_varint(plan.arm, below(MOST_ARMS, spec.arm) << 3 | 2) - plan.arm
    plan.enum_number = below(0x80, spec.enum_number)
    plan.judged = spec.judged
    plan.timestamp = plan.raw_event = plan.metadata = -1
    plan.slot_count = len(spec.slots)
    if plan.slot_count > MOST_SLOTS or len(spec.ops) > MOST_OPS:
        raise ValueError(f"{spec.cls.__name__} has too many fields")
    plan.base[0] = 0x0A
    plan.base_size = 2
    if spec.enum_number:
        plan.base[1], plan.base[2], plan.base[3] = 2, 0x08, spec.enum_number
        plan.base_size = 4
    for i, slot in enumerate(spec.slots):
        fill_slot(&plan.slots[i], slot, i * sizeof(PyObject*))
        if spec.is_event:
            if slot.name == "timestamp":
                plan.timestamp = i
            elif slot.name == "raw_event":
                plan.raw_event = i
            elif slot.name == "metadata":
                plan.metadata = i
            elif slot.kind not in ("text", "choice", "int", "bool"):
                plan.nests = True
    plan.op_count = len(spec.ops)
    for i, op in enumerate(spec.ops):
        plan.ops[i].kind = KINDS[op.kind]
        plan.ops[i].tag = below(MOST_FIELDS, op.number) << 3 | (0 if op.kind in ("int", "bool") else 2)
        plan.ops[i].slot = op.slot
        plan.ops[i].required = op.required
        plan.ops[i].key = keep_text(op.key)
    return plan


cdef int register(Plan* plan) except -1:
    global type_count
    place_of(plan.cls)[0] = plan
    type_count += 1
    return 0


cdef int add_class(object spec) except -1:
    """Takes what tables.Class says of a Struct."""
    cdef Plan* plan = new_plan(spec, spec.cls)
    cdef int i
    for i, slot in enumerate(spec.slots):
        plan.slots[i].offset = offset_of(spec.cls, slot.name)
    if spec.tag:
        fill_piece(&plan.pieces[plan.piece_count], -1, spec.tag_key)
        plan.piece_count += 1
    for i, slot in enumerate(spec.slots):
        fill_piece(&plan.pieces[plan.piece_count], i, slot.key)
        plan.piece_count += 1
    class_specs[spec.cls] = spec
    return register(plan)


def add_model(cls, struct_cls, attributes, tag_member):
    """Takes a pydantic model of the SDK that stands for a Struct.

    `attributes` are the name, the JSON key and whether None is absent, in the order of its
    `__dict__`; `tag_member` is what its tag attribute usually holds. With `struct_cls` None, only
    that the class is to be handed back.
    """
    cdef Plan* plan
    cdef int i, slot
    if type_count >= MOST_TYPES:
        return
    if struct_cls is None:
        plan = <Plan*> calloc(1, sizeof(Plan))
        if plan == NULL:
            raise MemoryError
        plan.cls = <PyTypeObject*> keep(cls)
        register(plan)
        return
    spec = class_specs[struct_cls]
    plan = new_plan(spec, cls)
    plan.is_model = True
    plan.tag_member = plan.tag if tag_member is None else keep(tag_member)
    plan.extra_offset = offset_of(cls, "__pydantic_extra__")
    keys = [each.key for each in spec.slots]
    for i, (name, key, none_is_absent) in enumerate(attributes):
        slot = -1 if key == spec.tag_key else keys.index(key)
        plan.attributes[i].name = keep_text(name)
        plan.attributes[i].slot = slot
        plan.attributes[i].none_is_absent = none_is_absent
        fill_piece(&plan.pieces[i], slot, key)
    plan.attribute_count = plan.piece_count = len(attributes)
    register(plan)


def add_operation(cls, attributes):
    """Takes a pydantic model of the SDK that stands for a patch operation."""
    cdef Plan* plan
    cdef int i
    if type_count >= MOST_TYPES:
        return
    plan = <Plan*> calloc(1, sizeof(Plan))
    if plan == NULL:
        raise MemoryError
    plan.cls = <PyTypeObject*> keep(cls)
    plan.is_model = plan.is_operation = True
    plan.extra_offset = offset_of(cls, "__pydantic_extra__")
    plan.slot_count = 4
    for i, (name, key, none_is_absent) in enumerate(attributes):
        plan.attributes[i].name = keep_text(name)
        plan.attributes[i].slot = ("op", "path", "from", "value").index(key)
        plan.attributes[i].none_is_absent = none_is_absent
        fill_piece(&plan.pieces[i], plan.attributes[i].slot, key)
    plan.attribute_count = plan.piece_count = len(attributes)
    register(plan)


cdef int fill_build(Build* build, object spec) except -1:
    global build_count
    cdef int i, j, first
    cdef Source* source
    build.cls = <PyTypeObject*> keep(spec.cls)
    build.tag = keep_text(spec.tag)
    for number in spec.allowed:
        build.allowed |= <uint32_t> 1 << <int> number
    for number in spec.needed:
        build.needed |= <uint32_t> 1 << <int> number
    build.count = below(MOST_SLOTS + 1, len(spec.sources))
    for i, each in enumerate(spec.sources):
        source = &build.sources[i]
        source.offset = offset_of(spec.cls, spec.cls.__struct_fields__[i])
        source.number = below(MOST_NUMBERS, each.number)
        source.parts = below(MOST_NUMBERS, each.parts)
        source.absent = ABSENCES[each.absent]
        source.may_nest = each.may_nest
        source.outcomes = -1
        source.outcome_count = len(each.outcomes)
        if each.outcomes:
            source.outcomes = first = build_count
            build_count = below(MOST_BUILDS, build_count + source.outcome_count)
            for j, outcome in enumerate(each.outcomes):
                fill_build(&build_table[first + j], outcome)
    return 0


cdef int fill_message(Message* message, object spec, dict indexes) except -1:
    global build_count
    cdef int i
    cdef Part* part
    message.chooser = spec.chooser
    for i in range(MOST_FIELDS):
        message.arms[i] = -1
    for number, name in spec.arms:
        message.arms[below(MOST_FIELDS, number)] = indexes[name]
    for each in spec.parts:
        part = &message.parts[below(MOST_FIELDS, each.number)]
        part.known = True
        part.kind = KINDS[each.kind]
        part.repeated = each.repeated
        part.accepts = KINDS[each.accepts]
        part.message = indexes.get(each.message, -1)
        part.choices = keep(tuple(map(keep_name, each.choices)))
        part.low = each.low
        part.high = each.high
        part.recurs = each.recurs
        part.level = each.level
    message.build = build_count
    message.build_count = len(spec.builds)
    build_count = below(MOST_BUILDS, build_count + message.build_count)
    for i, build in enumerate(spec.builds):
        fill_build(&build_table[message.build + i], build)
        for source in build.sources:
            for outcome in source.outcomes:
                for number in outcome.allowed:
                    message.outcome_fields |= <uint32_t> 1 << <int> number
    message.is_direct = len(spec.builds) == 1 and not spec.builds[0].needed and not any(
        source.parts or source.outcomes for source in spec.builds[0].sources
    ) and {each.number for each in spec.parts} <= {s.number for s in spec.builds[0].sources}
    for i in range(MOST_NUMBERS):
        message.places[i] = i * sizeof(PyObject*)
    if message.is_direct:
        for i, source in enumerate(spec.builds[0].sources):
            message.places[<int> source.number] = build_table[message.build].sources[i].offset
    return 0


def keep_name(text):
    from sys import intern
    return intern(text)


def configure(specs, classes, operations, resolver):
    """Takes tables.messages(), tables.classes(), the names of the patch operations, and what to
    tell of an unknown class."""
    global resolve, message_table, build_table, empty_text, OP_KEY, PATH_KEY, FROM_KEY, VALUE_KEY
    cdef int i
    if message_table != NULL:
        raise ValueError("the tables are there already")
    for spec in classes:
        add_class(spec)
    resolve = resolver
    cdef dict indexes = {spec.name: i for i, spec in enumerate(specs)}
    message_table = <Message*> calloc(len(specs), sizeof(Message))
    build_table = <Build*> calloc(MOST_BUILDS, sizeof(Build))
    if message_table == NULL or build_table == NULL:
        raise MemoryError
    for i, spec in enumerate(specs):
        fill_message(&message_table[i], spec, indexes)
    by_class = {build.cls: spec.name for spec in specs for build in spec.builds}
    for i in range(MOST_ARMS):
        event_messages[i] = -1
    for spec in classes:
        if spec.is_event:
            event_messages[<int> spec.arm] = indexes[by_class[spec.cls]]
            event_numbers[<int> spec.arm] = spec.enum_number
    for i, name in enumerate(operations):
        operation_names[i] = keep_text(name)
    empty_text = keep("")
    OP_KEY, PATH_KEY = keep_text("op"), keep_text("path")
    FROM_KEY, VALUE_KEY = keep_text("from"), keep_text("value")
