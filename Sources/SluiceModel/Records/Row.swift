/// One version of an object as stores, views and messages hold it: values by property position.
package struct Row: Hashable, Sendable {
    package var key: ObjectKey
    /// The version of the server's last change of the object; 0 if no server has stored it.
    package var version: UInt64
    /// One value for each property of the class, in schema order. Properties in `absent` have their defaults here.
    package var values: [Value]
    /// The properties whose values are not here because every query that brought the object excludes them.
    package var absent: PropertySet
    /// What the elements are of those lists that were edited; nil if there are none.
    private var lists: [Int: EditedList]?

    package init(key: ObjectKey, version: UInt64 = 0, values: [Value], absent: PropertySet = []) {
        self.key = key
        self.version = version
        self.values = values
        self.absent = absent
    }
}

extension Row {
    /// Whether both rows are the same version of an object with identical values, including the sign of zeros.
    package func isIdentical(to other: Row) -> Bool {
        key == other.key && version == other.version && absent == other.absent
            && lists == other.lists && values.count == other.values.count
            && zip(values, other.values).allSatisfy { $0.isIdentical(to: $1) }
    }
}

extension Row {
    /// Whether a list was edited.
    package var hasIdentities: Bool { lists != nil }

    /// The identities of the elements of those lists that were edited, by property, in no particular order.
    package var identities: [Int: ListIdentity] { lists?.mapValues(\.identity) ?? [:] }

    /// The identity of a list's elements; nil for one that was set as a whole.
    package func identity(of property: Int) -> ListIdentity? { lists?[property]?.identity }

    package func hasIdentity(of property: Int) -> Bool { lists?[property] != nil }

    package mutating func setIdentity(_ identity: ListIdentity?, of property: Int) {
        setEdited(identity.map { .identity($0) }, property)
    }

    private mutating func setEdited(_ list: EditedList?, _ property: Int) {
        if let list {
            lists = lists ?? [:]
            lists?[property] = list
        } else if lists != nil {
            lists?[property] = nil
            if lists?.isEmpty ?? false { lists = nil }
        }
    }

    /// Sets a property as a whole.
    package mutating func set(_ value: Value, of property: Int) {
        values[property] = value
        setIdentity(nil, of: property)
    }

    /// The list that a property is, with the identity of its elements; nil if it is none, or its identity is not known.
    /// O(1) for one that was edited since it was read, otherwise O(n).
    package func list(of property: Int) -> ElementList? {
        guard case .list(let values) = values[property] else { return nil }
        return openList(of: property) ?? ElementList(values, identity(of: property))
    }

    /// The list that a property is, if it is open.
    func openList(of property: Int) -> ElementList? {
        switch (lists?[property], values[property]) {
        case (.open(let list, let known)?, .list(let values)): known.isSame(as: values) ? list : nil
        case (.behind(let list)?, _): list
        default: nil
        }
    }

    package mutating func set(_ list: ElementList, of property: Int) {
        let values = list.values
        self.values[property] = .list(values)
        setEdited(list.isEmpty ? nil : .open(list, values), property)
    }

    /// Edits a list; without effect if the property is none, or its identity is not known. O(n) for the values, and
    /// O(log n) for each edit.
    ///
    /// - Parameters:
    ///   - isBehind: whether the value of the property stays as it is until ``closeLists()``.
    ///   - makeEdits: makes the edits of the list as it is; nil for none.
    /// - Returns: the edits.
    @discardableResult
    package mutating func edit(
        _ property: Int, isBehind: Bool = false, _ makeEdits: (inout ElementList) -> ListEdits?
    ) -> ListEdits? {
        guard var list = list(of: property), let edits = makeEdits(&list) else { return nil }
        // Not shared while they are changed.
        setEdited(nil, property)
        if isBehind {
            list.apply(edits)
            setEdited(.behind(list), property)
        } else if case .list(var elements) = values[property] {
            values[property] = .null
            list.apply(edits, to: &elements)
            values[property] = .list(elements)
            setEdited(list.isEmpty ? nil : .open(list, elements), property)
        }
        return edits
    }

    /// Gives the lists that were edited behind their values these values.
    package mutating func closeLists() {
        for case (let property, .behind(let list)) in lists ?? [:] { set(list, of: property) }
    }

    /// The row with the values of the lists that were edited behind them. O(n).
    package var withClosedLists: Row {
        var row = self
        row.closeLists()
        return row
    }

    /// How edited lists come from what they were in another row. O(n).
    package func listEdits(_ properties: PropertySet, from other: Row) -> [Int: ListEdits] {
        var edits: [Int: ListEdits] = [:]
        for property in properties where hasIdentity(of: property) {
            guard let old = other.list(of: property), let new = list(of: property) else { continue }
            edits[property] = ListEdits.between(old, new)
        }
        return edits
    }

    /// The properties in which another row of the same class differs, in values or in the identity of elements.
    ///
    /// - Parameter known: properties that count as different without a look.
    package func differences(from other: Row, besides known: PropertySet = []) -> PropertySet {
        var properties = known
        let common = Swift.min(values.count, other.values.count)
        for index in 0..<common
        where !known.contains(index) && !values[index].isIdentical(to: other.values[index]) { properties.insert(index) }
        for index in common..<Swift.max(values.count, other.values.count) { properties.insert(index) }
        guard lists != nil || other.lists != nil else { return properties }
        for property in Set((lists ?? [:]).keys).union((other.lists ?? [:]).keys)
        where !known.contains(property) && lists?[property] != other.lists?[property] { properties.insert(property) }
        return properties
    }
}

/// What the elements are of a list that was edited.
private enum EditedList: Sendable {
    case identity(ListIdentity)
    /// Ready to be edited, and the values that it has; not valid for others.
    case open(ElementList, [Value])
    /// Ready to be edited, and ahead of the values.
    case behind(ElementList)

    private var list: ElementList? {
        switch self {
        case .identity: nil
        case .open(let list, _), .behind(let list): list
        }
    }

    var identity: ListIdentity {
        switch self {
        case .identity(let identity): identity
        case .open(let list, _), .behind(let list): list.identity
        }
    }
}

extension EditedList: Hashable {
    static func == (left: EditedList, right: EditedList) -> Bool {
        if let left = left.list, let right = right.list { return left.hasSameIdentity(as: right) }
        return left.identity == right.identity
    }

    func hash(into hasher: inout Hasher) {
        switch self {
        case .identity(let identity): hasher.combine(identity.count)
        case .open(let list, _), .behind(let list): hasher.combine(list.count)
        }
    }
}
