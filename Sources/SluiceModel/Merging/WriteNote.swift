/// What one transaction did to one object, as far as merging asks: its effect without values, and what it takes to find
/// the effect anew once a deletion has taken others' part out.
package struct WriteNote: Hashable, Sendable {
    package var kind: WriteKind
    /// The properties that were written; none for a delete.
    package var written: PropertySet
    /// Which of `written` got a default that nobody has chosen.
    package var defaulted: PropertySet
    /// Which of `written` were changed in part and not assigned, and how.
    package var partial: [FieldOperation]
    /// Whether an update was a creation that met the object.
    package var creates: Bool
    /// Whether the transaction deletes what creations before it have made: beside a creation or an update, or of an
    /// object that was not there.
    package var deletes: Bool
    /// What is remembered of objects that have more than one creation; nil of all others.
    package var lineage: WriteLineage?

    package init(
        _ kind: WriteKind, written: PropertySet = [], defaulted: PropertySet = [], partial: [FieldOperation] = [],
        creates: Bool = false, deletes: Bool = false, lineage: WriteLineage? = nil
    ) {
        self.kind = kind
        self.written = written
        self.defaulted = defaulted
        self.partial = partial
        self.creates = creates
        self.deletes = deletes
        self.lineage = lineage
    }

    /// The lists among `partial`.
    package var editedLists: PropertySet {
        PropertySet(partial.lazy.filter { if case .editList = $0.change { true } else { false } }.map(\.property))
    }
}

/// What is remembered of a write to an object that has, or may come to have, more than one creation. A class, since
/// almost no write has one.
package final class WriteLineage: Hashable, Sendable {
    /// A write as its author made it, also what of it had no effect.
    package struct Origin: Hashable, Sendable {
        /// The version that the author knew.
        package var base: UInt64
        /// What was done to the properties, after the last deletion of the same transaction.
        package var fields: [FieldOperation]

        package init(base: UInt64, fields: [FieldOperation]) {
            self.base = base
            self.fields = fields
        }
    }

    /// What a deletion has left of an object with several creations.
    package struct Rest: Hashable, Sendable {
        /// Whether what there was before the creation that has ``former`` is left.
        package var keepsFormer: Bool
        /// The writes after that, or all, that are left, in the order of their versions, with the effect that they have without
        /// the others; and that of the transaction itself, if it creates the object again.
        package var writes: [StampedWrite]

        package init(keepsFormer: Bool, writes: [StampedWrite]) {
            self.keepsFormer = keepsFormer
            self.writes = writes
        }
    }

    package struct StampedWrite: Hashable, Sendable {
        package var stamp: WriteStamp
        package var note: WriteNote

        package init(_ note: WriteNote, _ stamp: WriteStamp) {
            self.stamp = stamp
            self.note = note
        }
    }

    package let origin: Origin?
    /// The object before a creation that met it: the first whose author did not know of all creations before.
    package let former: Row?
    /// If the transaction deletes a part of what the object goes back to: what is left.
    package let rest: Rest?

    package init(origin: Origin? = nil, former: Row? = nil, rest: Rest? = nil) {
        self.origin = origin
        self.former = former
        self.rest = rest
    }

    package static func == (left: WriteLineage, right: WriteLineage) -> Bool {
        left === right || left.origin == right.origin && left.former == right.former && left.rest == right.rest
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(origin)
        hasher.combine(former)
        hasher.combine(rest)
    }
}
