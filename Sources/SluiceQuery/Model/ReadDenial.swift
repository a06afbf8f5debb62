package import SluiceModel

/// Stands for the classes of a schema that a context of rules says nothing of: nothing is readable.
package final class ReadDenial: Sendable {
    package let schema: Schema
    /// A condition that no object meets, for each class.
    private let conditions: [Query?]

    package init(_ schema: Schema) {
        self.schema = schema
        conditions = schema.classes.map { declared in
            declared.isRetired
                ? nil
                : try? Query(QuerySyntax(.objects(className: declared.name), where: .constant(false)), schema: schema)
        }
    }

    package func condition(ofClass classIndex: Int) -> Query? {
        conditions.indices.contains(classIndex) ? conditions[classIndex] : nil
    }
}

/// What a reader does not see of the objects of a class that the reader may read.
package struct ReadVeil: Hashable, Sendable {
    /// The properties that are absent, as excluded ones are.
    package var properties: PropertySet
    /// Whether links to unreadable objects of the class are null, so that their keys do not show.
    package var hidesIdentity: Bool

    package init(properties: PropertySet = PropertySet(), hidesIdentity: Bool = false) {
        self.properties = properties
        self.hidesIdentity = hidesIdentity
    }

    package var isEmpty: Bool { properties.isEmpty && !hidesIdentity }

    /// The veil as text, equal for equal ones of a class.
    func text(of declared: ClassSchema) -> String {
        let hidden = declared.properties.indices.filter { properties.contains($0) }.map { declared.properties[$0].name }
        return "\(declared.name) \(hidesIdentity) \(hidden.sorted().joined(separator: ","))"
    }
}

/// A link property whose links show only where their targets may be read.
package struct VeiledLink: Hashable, Sendable {
    package let property: Int
    package let targetClass: Int

    /// The link properties that lead to classes which hide who their objects are, by the class that has them.
    static func all(in schema: Schema, to isVeiled: (Int) -> Bool) -> [Int: [VeiledLink]] {
        let targets = Set(schema.classes.indices.filter { !schema[$0].isRetired && isVeiled($0) })
        guard !targets.isEmpty else { return [:] }
        var links: [Int: [VeiledLink]] = [:]
        for (classIndex, declared) in schema.classes.enumerated() {
            for (property, type) in declared.properties.map(\.type).enumerated() {
                guard let target = type.targetClass.flatMap(schema.index(of:)), targets.contains(target) else {
                    continue
                }
                links[classIndex, default: []].append(VeiledLink(property: property, targetClass: target))
            }
        }
        return links
    }
}
