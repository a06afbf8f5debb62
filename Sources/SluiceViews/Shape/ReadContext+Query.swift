internal import SluiceModel
package import SluiceQuery

extension ReadContext {
    /// The classes on whose conditions it depends what a query finds: that of the results, and those that its paths lead
    /// to and whose links it follows.
    ///
    /// - Returns: nil if these may be any.
    package func classes(reachedBy query: Query) -> Set<Int>? {
        guard query.object == nil else { return nil }
        let form = query.form
        let dependencies = form.isPartial ? form.dependencies : form.predicateDependencies
        let followed = ClosurePlan(form, schema: schema, hidden: hiddenProperties).linkedClasses
        return Set(followed).union(dependencies.linkPaths.map(\.targetClass)).union([form.classIndex])
            .union(linkTargets(namedBy: dependencies, of: form.classIndex))
    }

    /// The classes that links lead to which a query names without following them, for instance to count them.
    func linkTargets(namedBy dependencies: QueryDependencies, of rootClass: Int) -> Set<Int> {
        var targets: Set<Int> = []
        for (classIndex, properties) in dependencies.referencedProperties(rootClass: rootClass)
        where schema.classes.indices.contains(classIndex) {
            for property in properties {
                guard let name = schema[classIndex].properties[property].type.targetClass else { continue }
                if let target = schema.index(of: name), veil(ofClass: target).hidesIdentity { targets.insert(target) }
            }
        }
        return targets
    }

    /// Calls `body` with the objects that have links to an object which show only while the object may be read.
    func forEachVeiledLink(
        to target: ObjectRef, in source: any ObjectSource, _ body: (ObjectRef) throws -> Void
    ) throws {
        guard veil(ofClass: target.classIndex).hidesIdentity else { return }
        for (classIndex, property) in schema.backlinks(to: target.classIndex) {
            var linking: [ObjectRef] = []
            try source.backlinks(to: target, fromClass: classIndex, property: property) { key in
                linking.append(ObjectRef(classIndex, key))
                return true
            }
            for object in linking { try body(object) }
        }
    }
}
