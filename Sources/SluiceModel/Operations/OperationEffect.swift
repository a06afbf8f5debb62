/// The effect of consecutive operations on one object, in as few fields as possible. It is known for both cases: that
/// the object exists before, and that it does not.
package struct OperationEffect {
    /// The effect on an object that does not exist.
    private enum OfMissing {
        case missing
        /// The object is created with its defaults, and then these are applied.
        case created([FieldOperation])
    }

    /// The effect on an object that exists.
    private enum OfPresent {
        case missing
        /// The object is deleted and created again with its defaults, and then these are applied.
        case created([FieldOperation])
        case changed([FieldOperation])
    }

    private var ofMissing = OfMissing.missing
    private var ofPresent = OfPresent.changed([])

    /// Makes the effect of no operation.
    package init() {}

    /// The effect of an operation on an object of a class as it is now: what was written under narrower types counts as
    /// far as it fits. The server rejects the rest.
    package init(_ operation: ObjectOperation, of declared: ClassSchema) {
        func folded(_ fields: [FieldOperation]) -> [FieldOperation] {
            [FieldOperation]().folding(
                fields.compactMap { field in
                    declared.properties[field.property].fitting(field.change).map { FieldOperation(field.property, $0) }
                })
        }
        switch operation.action {
        case .create(let fields):
            let fields = folded(fields)
            ofMissing = .created(fields)
            // An object that is there has values, and those may be more than defaults.
            ofPresent = .changed(fields.filter { if case .setDefault = $0.change { false } else { true } })
        case .update(let fields): ofPresent = .changed(folded(fields))
        case .delete: ofPresent = .missing
        }
    }

    /// The effect of this followed by another effect. O(fields).
    package func followed(by later: OperationEffect) -> OperationEffect {
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

    /// The object after the operations; nil if it does not exist then.
    package func applied(to row: Row?, of object: ObjectRef, schema: Schema) -> Row? {
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
