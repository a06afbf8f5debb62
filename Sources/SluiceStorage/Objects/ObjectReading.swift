package import SluiceModel
package import SluiceQuery

/// The objects of a store at one version, as either side reads them. Every error is a ``StorageError`` unless a closure
/// throws another.
///
/// An object is *present*, a *ghost* (something links to it, but its content is not here) or unknown; only present
/// objects have rows. Not safe for use from several threads at once.
package protocol ObjectReading: ObjectSource {
    /// The classes stored here. Positions in it never change their meaning.
    var schema: Schema { get }

    /// The present object with a global id, in whatever class.
    ///
    /// The first call for a keyed class builds its index of ids: O(n) once.
    func findObject(_ id: ObjectID) throws -> ObjectRef?

    /// The number of present objects of a class. O(n) without reading contents.
    func count(ofClass classIndex: Int) throws -> Int

    /// Every present row of a class in the order of storage, until `body` returns false.
    func forEachRow(ofClass classIndex: Int, _ body: (Row) throws -> Bool) throws
}
