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
        case .add(let amount): type.isCollection ? nil : convert(PropertyType(type.element), amount).map { .add($0) }
        }
    }
}
