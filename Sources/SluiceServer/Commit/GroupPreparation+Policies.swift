internal import SluiceModel
internal import SluiceStorage

/// What the server's user has to say: resolvers and validators.
extension GroupPreparation {
    /// Has resolvers decide what others have assigned too.
    mutating func resolve(
        _ touched: inout [TouchedObject], _ upload: Upload, _ policies: DatabasePolicies
    ) throws {
        let contested = touched.indices.filter { !touched[$0].contested.isEmpty && !touched[$0].isHidden }
        guard !contested.isEmpty else { return }
        var conflicts: [DatabasePolicies.Conflict] = []
        var places: [Int] = []
        for place in contested {
            let object = touched[place].object
            guard let remote = touched[place].old, let merged = touched[place].merger.row else { continue }
            var base: Row?
            if policies.needsBase(object.classIndex) {
                let before = try objects.before(touched[place].number, of: object)
                base = try bases.image(of: object, at: upload.changeset.baseVersion, before: before)
            }
            // What the author saw, as far as that is known.
            var author = Merger(base ?? remote, of: template(ofClass: object.classIndex))
            for operation in touched[place].operations {
                author.apply(operation, author: WriteStamp(author: upload), history: ObjectHistory())
            }
            guard let local = author.row else { continue }
            let properties = touched[place].contested.filter {
                !local.values[$0].isIdentical(to: remote.values[$0])
            }
            guard !properties.isEmpty else { continue }
            places.append(place)
            conflicts.append(
                .init(
                    object: object, base: base, local: local, remote: remote, merged: merged,
                    properties: PropertySet(properties)))
        }
        for (place, values) in zip(places, policies.resolve(conflicts, by: upload.userID)) {
            for (property, value) in values { touched[place].decide(property, value) }
        }
    }

    /// Has validators judge an upload.
    ///
    /// - Returns: whether they have amended anything.
    /// - Throws: ``TransactionRejection``.
    func validate(
        _ touched: inout [TouchedObject], _ upload: Upload, _ policies: DatabasePolicies
    ) throws(TransactionRejection) -> Bool {
        guard !policies.validators.isEmpty else { return false }
        let changed = touched.indices.filter { place in
            policies.validators[touched[place].object.classIndex] != nil && !touched[place].isHidden
                && touched[place].changes
        }
        guard !changed.isEmpty else { return false }
        let amendments = try policies.judge(
            changed.map { (touched[$0].object, touched[$0].old, touched[$0].merger.row) }, by: upload.userID)
        for amendment in amendments { touched[changed[amendment.object]].decide(amendment.property, amendment.value) }
        return !amendments.isEmpty
    }
}

extension WriteStamp {
    fileprivate init(author upload: Upload) {
        self.init(timestamp: upload.changeset.timestamp, clientID: upload.clientID, version: 0)
    }
}
