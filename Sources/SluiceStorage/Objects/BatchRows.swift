internal import SluiceModel
internal import SluiceWire

/// The rows of a batch as they are in the store once they are stored, made from the batch itself.
struct BatchRows: Sendable {
    private let batch: RowBatch
    private let declared: ClassSchema

    init(_ batch: RowBatch, of declared: ClassSchema) {
        self.batch = batch
        self.declared = declared
    }

    /// The row of an object that is new here.
    func row(at position: Int) -> Row {
        let key = batch.keys[position]
        var values = declared.defaultValues(for: key)
        for (offset, property) in batch.properties.enumerated() {
            values[property] = batch.columns[offset].value(at: position, keys: batch.keys)
        }
        return Row(key: key, version: batch.versions[position], values: values, absent: batch.absent)
    }

    /// What becomes of the row of an object that is here; nil if it stays as it is, because it is the same or later.
    func row(at position: Int, replacing old: Row) -> Row? {
        let version = batch.versions[position]
        guard old.version <= version else { return nil }
        var new = old
        new.version = version
        for (offset, property) in batch.properties.enumerated() {
            let value = batch.columns[offset].value(at: position, keys: batch.keys)
            if new.absent.contains(property) { new.absent.remove(property) }
            guard old.hasIdentity(of: property) || !value.isIdentical(to: old.values[property]) else { continue }
            new.set(value, of: property)
        }
        return new.isIdentical(to: old) ? nil : new
    }
}
