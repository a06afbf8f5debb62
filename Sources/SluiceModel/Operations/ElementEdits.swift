/// What is done to single elements of a set, or to single entries of a map. What it does not name stays as it is.
///
/// An element of a set is named by itself, an entry of a map by its key. So edits of several authors meet only where
/// they name the same, and neither positions nor ids are needed.
package struct ElementEdits: Hashable, Sendable {
    package enum Container: Hashable, Sendable {
        case set, map
    }

    package let container: Container
    /// What becomes of what is named: the element itself in a set, the value under the key in a map; nil where it is
    /// erased.
    package private(set) var outcomes: [Value: Value?]

    package init(_ container: Container, _ outcomes: [Value: Value?] = [:]) {
        self.container = container
        self.outcomes = outcomes
    }

    /// The edits of a set; what is both inserted and erased is inserted.
    package init(inserting inserted: some Sequence<Value>, erasing erased: some Sequence<Value> = []) {
        self.init(.set)
        for element in erased { outcomes[element] = .some(nil) }
        for element in inserted { outcomes[element] = element }
    }

    /// The edits of a map; a key that is both set and erased is set.
    package init(setting entries: some Sequence<ValueMap.Entry>, erasing keys: some Sequence<String> = []) {
        self.init(.map)
        for key in keys { outcomes[.string(key)] = .some(nil) }
        for entry in entries { outcomes[.string(entry.key)] = entry.value }
    }

    package var isEmpty: Bool { outcomes.isEmpty }
    package var count: Int { outcomes.count }

    /// The elements that are inserted, or the entries that are set, as a collection.
    package var inserted: Value { applied(to: empty) }

    /// The elements or keys that are erased, ascending.
    package var erased: [Value] { outcomes.lazy.filter { $0.value == nil }.map(\.key).sorted() }

    private var empty: Value {
        switch container {
        case .set: .set([])
        case .map: .map(ValueMap())
        }
    }

    /// The edits whose names meet a condition.
    package func filter(_ isIncluded: (Value) -> Bool) -> ElementEdits {
        ElementEdits(container, outcomes.filter { isIncluded($0.key) })
    }

    /// Adds later edits. Amortised O(later edits).
    mutating func append(_ later: ElementEdits) {
        guard container == later.container else { return }
        for (name, outcome) in later.outcomes { outcomes[name] = .some(outcome) }
    }
}

extension ElementEdits {
    /// The collection after the edits; a value of another kind stays as it is. O(n + m log m) for m edits of n elements.
    package func applied(to value: Value) -> Value {
        switch (container, value) {
        case (.set, .set(let elements)):
            .set(merged(elements, name: { $0 }) { _, element in element })
        case (.map, .map(let map)):
            .map(
                ValueMap(
                    ascending: merged(map.entries, name: { .string($0.key) }) { name, value in
                        guard case .string(let key) = name else { return nil }
                        return ValueMap.Entry(key: key, value: value)
                    }))
        default: value
        }
    }

    /// Merges what ascends by name with the edits in the order of their names.
    private func merged<Part>(
        _ parts: [Part], name: (Part) -> Value, _ make: (Value, Value) -> Part?
    ) -> [Part] {
        let edits = outcomes.sorted { $0.key < $1.key }
        var result: [Part] = []
        result.reserveCapacity(parts.count + edits.count)
        var next = 0
        func takeEdit() {
            if let value = edits[next].value, let made = make(edits[next].key, value) { result.append(made) }
            next += 1
        }
        for part in parts {
            let own = name(part)
            while next < edits.count, edits[next].key < own { takeEdit() }
            if next < edits.count, edits[next].key == own { takeEdit() } else { result.append(part) }
        }
        while next < edits.count { takeEdit() }
        return result
    }

    /// The edits that make one collection of another; nil unless both are sets or both are maps. O(n) for both.
    package static func difference(from old: Value, to new: Value) -> ElementEdits? {
        switch (old, new) {
        case (.set(let old), .set(let new)):
            var edits = ElementEdits(.set)
            edits.note(old, new, name: { $0 }, value: { $0 })
            return edits
        case (.map(let old), .map(let new)):
            var edits = ElementEdits(.map)
            edits.note(old.entries, new.entries, name: { .string($0.key) }, value: { $0.value })
            return edits
        default: return nil
        }
    }

    /// Notes where two sequences differ that ascend by name.
    private mutating func note<Part>(
        _ old: [Part], _ new: [Part], name: (Part) -> Value, value: (Part) -> Value
    ) {
        var next = 0
        for part in old {
            let own = name(part)
            while next < new.count, name(new[next]) < own {
                outcomes[name(new[next])] = value(new[next])
                next += 1
            }
            if next < new.count, name(new[next]) == own {
                if !value(new[next]).isIdentical(to: value(part)) { outcomes[own] = value(new[next]) }
                next += 1
            } else {
                outcomes[own] = .some(nil)
            }
        }
        for part in new[next...] { outcomes[name(part)] = value(part) }
    }
}
