internal import SluiceModel

/// What a write transaction asks of what it writes to: a store, or a database of a server in this process.
package protocol TransactionScope: AnyObject {
    /// The position of a class in the schema.
    ///
    /// - Throws: ``StoreError/Code/unknownClass``.
    func classIndex(of className: String) throws -> Int

    /// How rows of a class are decoded as a type.
    func binding(of element: any ResultElement.Type, classIndex: Int) throws -> ElementBinding
}

extension StoreCore: TransactionScope {}
