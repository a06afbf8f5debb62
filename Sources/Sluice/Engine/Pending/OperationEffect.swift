internal import SluiceModel

/// What operations on one object, one after the other, make of it: as few fields as say the same, for either state that
/// the object may be in before.
struct OperationEffect {
    /// What becomes of an object that is not there.
    private enum OfMissing {
        case missing
        /// It has its defaults, and then these.
        case created([FieldOperation])
    }

    /// What becomes of an object that is there.
    private enum OfPresent {
        case missing
        /// It was deleted, and made again with its defaults and then these.
        case created([FieldOperation])
        case changed([FieldOperation])
    }

    private var ofMissing = OfMissing.missing
    private var ofPresent = OfPresent.changed([])

    /// Nothing is done.
    init() {}

    init(_ operation: ObjectOperation) {
        switch operation.action {
        case .create(let fields):
            ofMissing = .created([FieldOperation]().folding(fields))
            ofPresent = .changed([FieldOperation]().folding(fields))
        case .update(let fields): ofPresent = .changed([FieldOperation]().folding(fields))
        case .delete: ofPresent = .missing
        }
    }

    /// This, and then something else. O(fields).
    func followed(by later: OperationEffect) -> OperationEffect {
        var whole = OperationEffect()
        switch ofMissing {
        case .missing: whole.ofMissing = later.ofMissing
        case .created(let fields):
            switch later.ofPresent {
            case .missing: whole.ofMissing = .missing
            case .created(let fields): whole.ofMissing = .created(fields)
            case .changed(let more): whole.ofMissing = .created(fields.folding(more))
            }
        }
        switch (ofPresent, later.ofPresent) {
        case (.missing, _):
            if case .created(let fields) = later.ofMissing {
                whole.ofPresent = .created(fields)
            } else {
                whole.ofPresent = .missing
            }
        case (_, .missing): whole.ofPresent = .missing
        case (_, .created(let fields)): whole.ofPresent = .created(fields)
        case (.created(let fields), .changed(let more)): whole.ofPresent = .created(fields.folding(more))
        case (.changed(let fields), .changed(let more)): whole.ofPresent = .changed(fields.folding(more))
        }
        return whole
    }

    /// The object afterwards; nil if there is none.
    func applied(to row: Row?, of object: ObjectRef, schema: Schema) -> Row? {
        func created(_ fields: [FieldOperation]) -> Row {
            var row = Row(key: object.key, values: schema[object.classIndex].defaultValues(for: object.key))
            row.apply(fields)
            return row
        }
        guard var row else {
            if case .created(let fields) = ofMissing { return created(fields) }
            return nil
        }
        switch ofPresent {
        case .missing: return nil
        case .created(let fields): return created(fields)
        case .changed(let fields):
            row.apply(fields)
            return row
        }
    }
}

extension Row {
    /// Applies field operations; what they set is here from then on.
    fileprivate mutating func apply(_ fields: [FieldOperation]) {
        for field in fields {
            values[field.property] = field.change.applied(to: values[field.property])
            absent.remove(field.property)
        }
    }
}

extension [FieldOperation] {
    /// These operations followed by others, as few as say the same.
    func folding(_ later: [FieldOperation]) -> [FieldOperation] {
        var folded = self
        for field in later {
            guard let earlier = folded.lastIndex(where: { $0.property == field.property }) else {
                folded.append(field)
                continue
            }
            switch (field.change, folded[earlier].change) {
            case (.set, _):
                folded.removeAll { $0.property == field.property }
                folded.append(field)
            case (.add, .set(let value)):
                folded[earlier].change = .set(field.change.applied(to: value))
            case (.add, .add(let amount)):
                folded[earlier].change = .add(field.change.applied(to: amount))
            }
        }
        return folded
    }
}
