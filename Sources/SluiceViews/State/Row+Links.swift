import SluiceModel

extension Row {
    /// Calls `body` with every link in a property, unless the row lacks the property.
    func forEachLink(in property: Int, _ body: (ObjectKey) throws -> Void) rethrows {
        guard property < values.count, !absent.contains(property) else { return }
        try values[property].forEachLink(body)
    }
}
