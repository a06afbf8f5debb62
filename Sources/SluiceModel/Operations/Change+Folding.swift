extension FieldOperation.Change {
    /// What a change is to an earlier one of the same property and author.
    package enum Relation: Hashable, Sendable {
        /// It decides the whole value, and nothing is left of the earlier one.
        case replaces
        /// It changes what the earlier one has assigned: both are an assignment of the result.
        case refines
        /// It is of the same kind: both are one change of this kind.
        case joins
        /// It stays apart, after the earlier one. What changes a default counts also where the default yields, and edits
        /// of a list that was assigned say what its elements are, which the resulting value would not.
        case follows
    }

    /// Makes this change the one that has the effect of both it and a later one, unless that stays apart. Many edits, one
    /// after the other, cost as much as all of them at once.
    package mutating func fold(_ later: FieldOperation.Change) -> Relation {
        switch later {
        case .set, .setDefault, .clear:
            self = later
            return .replaces
        case .add:
            switch self {
            case .set(let value): self = .set(later.applied(to: value))
            case .add(let amount):
                self = .add(later.applied(to: amount))
                return .joins
            case .setDefault, .clear, .edit, .editList: return .follows
            }
        case .edit(let more):
            switch self {
            case .set(let value): self = .set(more.applied(to: value))
            case .clear: self = .set(more.inserted)
            case .edit(var edits):
                // The edits must not be shared while they grow.
                self = .clear
                edits.append(more)
                self = .edit(edits)
                return .joins
            case .setDefault, .add, .editList: return .follows
            }
        case .editList(let more):
            switch self {
            case .editList(var edits):
                self = .clear
                edits.append(more)
                self = .editList(edits)
                return .joins
            case .set, .setDefault, .clear, .add, .edit: return .follows
            }
        }
        return .refines
    }
}

extension [FieldOperation] {
    /// Appends later operations, and combines all into one for each property.
    package func folding(_ later: [FieldOperation]) -> [FieldOperation] {
        var folded = self
        for field in later { folded.fold(field) }
        return folded
    }

    /// Appends a later operation, or folds it into the last one of the same property. A property that is assigned anew
    /// comes last.
    package mutating func fold(_ later: FieldOperation) {
        guard let earlier = lastIndex(where: { $0.property == later.property }) else { return append(later) }
        switch self[earlier].change.fold(later.change) {
        case .replaces:
            removeAll { $0.property == later.property }
            append(later)
        case .refines, .joins: break
        case .follows: append(later)
        }
    }
}
