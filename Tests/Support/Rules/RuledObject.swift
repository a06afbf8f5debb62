package import SluiceModel

/// Objects in memory, for oracles that read rules naively.
package protocol RuledObjects {
    var schema: Schema { get }

    /// The objects of a class; none if the schema lacks it.
    func objects(named className: String) -> [ObjectKey: Row]
}

extension RuledObjects {
    /// An object by class and key; nil if there is no such object.
    package func object(_ className: String, _ key: ObjectKey) -> RuledObject? {
        objects(named: className)[key].map { RuledObject(className, $0, in: self) }
    }
}

/// An object as rules name it: its properties, what it links to, and what links to it. It is read without anything of
/// the product but its data.
package struct RuledObject {
    package let className: String
    package let row: Row
    private let world: any RuledObjects

    package init(_ className: String, _ row: Row, in world: any RuledObjects) {
        self.className = className
        self.row = row
        self.world = world
    }

    package var key: ObjectKey { row.key }

    private func property(_ name: String) -> (value: Value, target: String?)? {
        guard let declared = world.schema.classSchema(named: className), let index = declared.index(of: name) else {
            return nil
        }
        return (row.values[index], declared.properties[index].type.targetClass)
    }

    /// The value of a property; nil if there is no such property.
    package subscript(_ name: String) -> Value? { property(name)?.value }

    package func text(_ name: String) -> String? { if case .string(let text)? = self[name] { text } else { nil } }

    package func int(_ name: String) -> Int64? { if case .int(let number)? = self[name] { number } else { nil } }

    /// The elements of a list or a set; none if the property is something else.
    package func elements(_ name: String) -> [Value] {
        switch self[name] {
        case .list(let elements), .set(let elements): elements
        default: []
        }
    }

    /// The objects that a property links to, without those that are not there.
    package func targets(_ name: String) -> [RuledObject] {
        guard let (value, target) = property(name), let target else { return [] }
        return value.linkedKeys.compactMap { world.object(target, $0) }
    }

    /// How many links a property has, be the objects there or not.
    package func linkCount(_ name: String) -> Int { self[name]?.linkedKeys.count ?? 0 }

    package func target(_ name: String) -> RuledObject? { targets(name).first }

    /// The value of a map at a key, if it is a link to an object that is there.
    package func target(_ name: String, at mapKey: String) -> RuledObject? {
        guard let (value, target) = property(name), let target, case .map(let map) = value,
            let entry = map.entries.first(where: { $0.key == mapKey }), case .link(let key) = entry.value
        else { return nil }
        return world.object(target, key)
    }

    /// The objects of a class of which a property links to this object.
    ///
    /// - Complexity: O(*objects of the class*).
    package func linking(_ className: String, _ name: String) -> [RuledObject] {
        guard let declared = world.schema.classSchema(named: className), let index = declared.index(of: name) else {
            return []
        }
        return world.objects(named: className).values
            .filter { $0.values[index].linkedKeys.contains(key) }
            .map { RuledObject(className, $0, in: world) }
    }
}

extension Value {
    /// The keys of all links in a value, in order.
    package var linkedKeys: [ObjectKey] {
        switch self {
        case .link(let key): [key]
        case .list(let elements), .set(let elements): elements.flatMap(\.linkedKeys)
        case .map(let map): map.entries.flatMap(\.value.linkedKeys)
        default: []
        }
    }
}
