internal import SluiceModel

/// Finds the pages that an object is in. Most objects are in one.
struct PagePlaces {
    private var first: [ObjectRef: Int] = [:]
    private var others: [ObjectRef: [Int]] = [:]

    mutating func add(_ objects: [ObjectRef], to page: Int) {
        for object in objects {
            if first[object] == nil { first[object] = page } else { others[object, default: []].append(page) }
        }
    }

    func forEachPage(of object: ObjectRef, _ body: (Int) -> Void) {
        guard let page = first[object] else { return }
        body(page)
        others[object]?.forEach(body)
    }
}
