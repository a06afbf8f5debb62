package import SluiceModel

/// The objects of a store at one version, as either side reads them. Every error is a ``StorageError`` unless a closure
/// throws another.
///
/// An object is *present*, a *ghost* (something links to it, but its content is not here) or unknown; only present
/// objects have rows. Not safe for use from several threads at once.
package protocol ObjectReading: AnyObject {
    /// The classes stored here. Positions in it never change their meaning.
    var schema: Schema { get }

    /// The content of an object; nil for a ghost, a deleted or an unknown object.
    func row(_ object: ObjectRef) throws -> Row?

    /// Whether the object's content is here.
    func isPresent(_ object: ObjectRef) throws -> Bool

    /// The present objects that link to `object` through a property of a class, each once, until `body` returns false.
    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool) throws

    /// The present object with a global id, in whatever class.
    ///
    /// The first call for a keyed class builds its index of ids: O(n) once.
    func findObject(_ id: ObjectID) throws -> ObjectRef?

    /// The number of present objects of a class. O(n) without reading contents.
    func count(ofClass classIndex: Int) throws -> Int

    /// Every present row of a class in the order of storage, until `body` returns false.
    func forEachRow(ofClass classIndex: Int, _ body: (Row) throws -> Bool) throws
}
