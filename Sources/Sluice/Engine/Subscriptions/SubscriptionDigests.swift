internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews

/// Computes the digests of subscriptions from what is stored.
struct SubscriptionDigests {
    private let storage: SQLiteClientStorage
    private let schema: SchemaAgreement
    private let images: ObjectImages

    init(_ storage: SQLiteClientStorage, _ schema: SchemaAgreement, _ images: ObjectImages) {
        self.storage = storage
        self.schema = schema
        self.images = images
    }

    /// The digest of a subscription's objects as the server should have them, which is without pending writes.
    ///
    /// - Returns: nil if the subscription has no digest, or if some of its data is not here.
    func digest(of subscription: Subscription) throws -> ObjectID? {
        guard let map = schema.map, let query = try? subscription.query.rebound(to: schema.server),
            var digest = ViewDigest(
                query, schema: schema.server, hidden: try ReadingContext(storage).hidden)
        else { return nil }
        for role in MemberRole.allCases {
            var isHere = true
            try storage.forEachMember(of: subscription.record.id, role: role) { object in
                guard let reference = map.toServer(object), let row = try images.serverImage(of: object),
                    let translated = translate(
                        row, to: reference, digest.properties(ofClass: reference.classIndex), map)
                else {
                    isHere = false
                    return false
                }
                digest.add(translated, of: reference.classIndex, isRoot: role == .root)
                return true
            }
            guard isHere else { return nil }
        }
        return digest.digest
    }

    /// The given properties of a row at the server's positions; nil if one of them is not here.
    private func translate(
        _ row: Row, to reference: ObjectRef, _ properties: PropertySet, _ map: SchemaMap
    ) -> Row? {
        guard let positions = map.properties(fromServer: properties, ofClass: reference.classIndex) else { return nil }
        let declared = schema.server[reference.classIndex].properties
        var translated = Row(key: row.key, values: [Value](repeating: .null, count: declared.count))
        for (property, position) in zip(properties, positions) {
            guard !row.absent.contains(position) else { return nil }
            let value = row.values[position]
            translated.values[property] = declared[property].type.narrowing(value) ?? value
            translated.setIdentity(row.identity(of: position), of: property)
        }
        return translated
    }
}
