/// One version of an object as stores, views and messages hold it: values by property position.
package struct Row: Hashable, Sendable {
    package var key: ObjectKey
    /// The version of the server's last change of the object; 0 if no server has stored it.
    package var version: UInt64
    /// One value for each property of the class, in schema order. Properties in `absent` have their defaults here.
    package var values: [Value]
    /// The properties whose values are not here because every query that brought the object excludes them.
    package var absent: PropertySet
    /// The identities of the elements of those lists that were edited; nil if there are none.
    private var listIdentities: [Int: ListIdentity]?

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
            && listIdentities == other.listIdentities && values.count == other.values.count
            && zip(values, other.values).allSatisfy { $0.isIdentical(to: $1) }
    }
}

extension Row {
    /// The identities of the elements of those lists that were edited, by property, in no particular order.
    package var identities: [Int: ListIdentity] { listIdentities ?? [:] }

    /// The identity of a list's elements; nil for one that was set as a whole.
    package func identity(of property: Int) -> ListIdentity? { listIdentities?[property] }

    package mutating func setIdentity(_ identity: ListIdentity?, of property: Int) {
        if let identity {
            listIdentities = listIdentities ?? [:]
            listIdentities?[property] = identity
        } else if listIdentities != nil {
            listIdentities?[property] = nil
            if listIdentities?.isEmpty ?? false { listIdentities = nil }
        }
    }

    /// Sets a property as a whole.
    package mutating func set(_ value: Value, of property: Int) {
        values[property] = value
        setIdentity(nil, of: property)
    }

    /// The list that a property is, with the identity of its elements; nil if it is none, or its identity is not known.
    package func list(of property: Int) -> ElementList? {
        guard case .list(let values) = values[property] else { return nil }
        return ElementList(values, identity(of: property))
    }

    package mutating func set(_ list: ElementList, of property: Int) {
        values[property] = .list(list.values)
        setIdentity(list.elements.isEmpty ? nil : list.identity, of: property)
    }

    /// Removes elements of a list from what somebody is shown. Those that stay are the same elements as in the whole.
    package mutating func keepElements(_ isKept: [Bool], ofList property: Int) {
        guard case .list(let elements) = values[property], isKept.contains(false) else { return }
        let identity = identity(of: property) ?? ElementList(elements).identity
        values[property] = .list(zip(elements, isKept).filter(\.1).map(\.0))
        setIdentity(isKept.contains(true) ? identity.filtered(isKept) : nil, of: property)
    }

    /// The properties in which another row of the same class differs, in values or in the identity of elements.
    package func differences(from other: Row) -> PropertySet {
        var properties = PropertySet()
        let common = Swift.min(values.count, other.values.count)
        for index in 0..<common where !values[index].isIdentical(to: other.values[index]) { properties.insert(index) }
        for index in common..<Swift.max(values.count, other.values.count) { properties.insert(index) }
        guard listIdentities != nil || other.listIdentities != nil else { return properties }
        for property in Set(identities.keys).union(other.identities.keys)
        where identity(of: property) != other.identity(of: property) { properties.insert(property) }
        return properties
    }
}
