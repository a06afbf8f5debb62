import SluiceModel
import SluiceRules
import SluiceStorage

/// Judges afterwards whether the server was right to take a transaction or to refuse it.
enum WriteJudge {
    /// Why a transaction should not have been taken; nil if it was right.
    ///
    /// - Parameters:
    ///   - before: the state before the transaction, which gives authority.
    ///   - after: the state after it, which is judged.
    static func problem(
        taking entry: SluiceStorage.LogEntry, by access: RuledAccess, before: ServerState, after: ServerState
    ) -> String? {
        let former = AccessJudge(access, in: before)
        let latter = AccessJudge(access, in: after, factsOf: before)
        for change in entry.changes {
            let declared = after.schema[change.object.classIndex]
            let (old, new) = (before.row(change.object), after.row(change.object))
            func mayDelete(_ row: Row) -> Bool { former.may(.delete, declared.name, row) }
            func mayCreate(_ row: Row) -> Bool {
                latter.may(.create, declared.name, row)
                    && change.written.allSatisfy { property in
                        row.values[property].isIdentical(to: declared.defaultValues(for: row.key)[property])
                            || latter.mayWrite(declared.properties[property], declared.name, row)
                    }
            }
            if let old, !former.mayRead(declared.name, old) { return "\(declared.name) \(old.key) is not readable" }
            let isRight =
                switch (old, new) {
                case (nil, nil): true
                case (nil, let new?): mayCreate(new)
                case (let old?, nil): mayDelete(old)
                case (let old?, _?) where change.isDeletionAlone(by: entry): mayDelete(old)
                case (let old?, let new?):
                    former.may(.update, declared.name, old) && latter.may(.updateAfter, declared.name, new)
                        && change.written.allSatisfy {
                            former.mayWrite(declared.properties[$0], declared.name, old)
                        } || mayDelete(old) && mayCreate(new)
                }
            if !isRight { return "\(change.kind) of \(declared.name) \(change.object.key) is not allowed" }
            if let new,
                let target = former.linkToUnreadable(in: new, of: declared, replacing: old, countsMissing: false)
            {
                return "\(declared.name) \(change.object.key) links \(target), which its author may not read"
            }
        }
        return nil
    }

    /// Whether a transaction is allowed in every way in which it may have been merged, so that it must not be refused.
    ///
    /// Which of its assignments other writes have overtaken is not known here. Transactions of several objects are not
    /// judged.
    static func mustBeTaken(_ changeset: Changeset, by access: RuledAccess, at state: ServerState) -> Bool {
        guard access.rules != nil else { return true }
        let objects = Set(changeset.operations.map(\.object))
        guard objects.count == 1, let object = objects.first, changeset.operations.count == 1 else { return false }
        let operation = changeset.operations[0]
        guard state.schema.classes.indices.contains(object.classIndex) else { return false }
        let declared = state.schema[object.classIndex]
        let former = AccessJudge(access, in: state)
        guard let old = state.row(object) else {
            guard case .create = operation.action else { return true }
            return allCombinations(of: operation.fields).allSatisfy { fields in
                var row = Row(key: object.key, values: declared.defaultValues(for: object.key))
                apply(fields, to: &row)
                let after = AccessJudge(access, in: state.overlaid(object, row), factsOf: state)
                return former.linkToUnreadable(in: row, of: declared, replacing: nil, countsMissing: true) == nil
                    && after.may(.create, declared.name, row)
                    && operation.fields.allSatisfy {
                        after.mayWrite(declared.properties[$0.property], declared.name, row)
                    }
            }
        }
        guard former.mayRead(declared.name, old) else {
            if case .create = operation.action { return false }
            return true
        }
        if case .delete = operation.action {
            // What it leaves of an object that others have created too may have links that others have overwritten.
            return former.may(.delete, declared.name, old) && !access.hasRevealingLinks(declared)
        }
        guard former.may(.update, declared.name, old),
            operation.fields.allSatisfy({ former.mayWrite(declared.properties[$0.property], declared.name, old) })
        else { return false }
        return allCombinations(of: operation.fields).allSatisfy { fields in
            var row = old
            apply(fields, to: &row)
            let after = AccessJudge(access, in: state.overlaid(object, row), factsOf: state)
            return former.linkToUnreadable(in: row, of: declared, replacing: old, countsMissing: true) == nil
                && after.may(.updateAfter, declared.name, row)
        }
    }

    private static func apply(_ fields: [FieldOperation], to row: inout Row) {
        row.apply(fields)
    }

    private static func allCombinations(of fields: [FieldOperation]) -> [[FieldOperation]] {
        (0..<(1 << min(fields.count, 8))).map { mask in
            fields.enumerated().filter { $0.offset >= 8 || mask >> $0.offset & 1 == 1 }.map(\.element)
        }
    }
}

extension LogChange {
    /// Whether the transaction does nothing to the object but delete it, and others have created what is left.
    fileprivate func isDeletionAlone(by entry: SluiceStorage.LogEntry) -> Bool {
        note.deletes && !note.creates && kind == .update && note.lineage?.origin == nil
            && !(note.lineage?.rest?.writes.contains { $0.stamp.version == entry.version } ?? false)
    }
}
