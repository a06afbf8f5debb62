extension Property {
    /// A change of this property as its type takes it; nil where it cannot be taken exactly.
    package func fitting(_ change: FieldOperation.Change) -> FieldOperation.Change? {
        converted(change) { $0.fitting($1) }
    }

    /// The same, but an integer beyond 2^53 becomes the nearest double: for what only remembers a change that was.
    package func nearest(_ change: FieldOperation.Change) -> FieldOperation.Change? {
        converted(change) { $0.nearest($1) }
    }

    private func converted(
        _ change: FieldOperation.Change, _ convert: (PropertyType, Value) -> Value?
    ) -> FieldOperation.Change? {
        switch change {
        case .set(let value): convert(type, value).map { .set($0) }
        case .setDefault(let value): convert(type, value).map { .setDefault($0) }
        case .add(let amount): type.isCollection ? nil : convert(PropertyType(type.element), amount).map { .add($0) }
        case .clear: type.isCollection ? .clear : nil
        case .edit(let edits): converted(edits, convert).map { .edit($0) }
        case .editList(let edits):
            type.container == .list ? edits.mappingValues { element($0, convert) }.map { .editList($0) } : nil
        }
    }

    private func element(_ value: Value, _ convert: (PropertyType, Value) -> Value?) -> Value? {
        guard case .list(let elements)? = convert(type, .list([value])) else { return nil }
        return elements.first
    }

    private func converted(
        _ edits: ElementEdits, _ convert: (PropertyType, Value) -> Value?
    ) -> ElementEdits? {
        guard let inserted = convert(type, edits.inserted) else { return nil }
        switch (type.container, edits.container, inserted) {
        case (.map, .map, .map(let map)):
            let keys = edits.erased.compactMap { if case .string(let key) = $0 { key } else { nil } }
            return ElementEdits(setting: map.entries, erasing: keys)
        case (.set, .set, .set(let elements)):
            guard case .set(let erased)? = convert(type, .set(edits.erased)) else { return nil }
            return ElementEdits(inserting: elements, erasing: erased)
        default: return nil
        }
    }
}
