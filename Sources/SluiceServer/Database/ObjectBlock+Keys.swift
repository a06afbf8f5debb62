internal import SluiceModel
internal import SluiceWire

extension ObjectBlock {
    /// What is wrong where a client names objects by their keys alone; nil if nothing is.
    func problem(namingObjectsOf schema: Schema) -> String? {
        for group in groups {
            guard schema.classes.indices.contains(group.classIndex) else {
                return "there is no class \(group.classIndex); the schema has \(schema.classes.count)"
            }
            guard group.width == 0 else { return "objects are named by their keys, without properties" }
            let declared = schema[group.classIndex]
            guard group.keys.allSatisfy(declared.accepts) else {
                return
                    "\(declared.name) names its objects by \(declared.keyType.rawValue), not by the kind of key given"
            }
        }
        return nil
    }

    /// The objects that the rows name.
    var objects: [ObjectRef] { groups.flatMap { group in group.keys.map { ObjectRef(group.classIndex, $0) } } }
}
