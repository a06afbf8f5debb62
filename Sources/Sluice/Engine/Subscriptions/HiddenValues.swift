internal import SluiceModel
internal import SluiceStorage

/// Takes out of the store what the server's rules hide of objects that stay: the values are absent from then on, as those
/// of excluded properties are.
struct HiddenValues {
    private let storage: SQLiteClientStorage
    private let images: ObjectImages
    private let map: SchemaMap
    private let transaction: StoreTransaction

    /// - Parameter transaction: the open transaction.
    init(
        _ storage: SQLiteClientStorage, _ images: ObjectImages, _ map: SchemaMap, _ transaction: StoreTransaction
    ) {
        self.storage = storage
        self.images = images
        self.map = map
        self.transaction = transaction
    }

    /// Removes the values of what is hidden now, except those of pending writes. It reads every object of the classes.
    func remove() throws {
        for (classIndex, properties) in try ReadingContext(storage).hidden(by: map) {
            try remove(properties, ofClass: classIndex)
        }
    }

    private func remove(_ properties: PropertySet, ofClass classIndex: Int) throws {
        for object in try storage.objectsWithBaseImage where object.classIndex == classIndex {
            guard let image = try images.keptImage(of: object) else { continue }
            try storage.setBaseImage(.row(image.without(properties, of: storage.schema[classIndex])), of: object)
        }
        var objects: [ObjectRef] = []
        try storage.forEachRow(ofClass: classIndex) { row in
            if !properties.subtracting(row.absent).isEmpty { objects.append(ObjectRef(classIndex, row.key)) }
            return true
        }
        for object in objects {
            guard let row = try storage.row(object) else { continue }
            if try storage.hasPending(object) {
                try transaction.show(images.replayed(images.keptImage(of: object), of: object), of: object)
            } else {
                try transaction.show(row.without(properties, of: storage.schema[classIndex]), of: object)
            }
        }
    }
}

extension Row {
    /// The row without the values of some properties.
    func without(_ properties: PropertySet, of declared: ClassSchema) -> Row {
        var row = self
        for property in properties {
            row.set(declared.properties[property].defaultValue, of: property)
            row.absent.insert(property)
        }
        return row
    }
}
