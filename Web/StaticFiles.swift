internal import SluiceModel

/// A file for browsers, in the program itself.
package struct StaticFile: Sendable {
    /// The last part of its path.
    package let name: String
    /// Its media type.
    package let type: String
    package let bytes: [UInt8]
    /// Tells versions of the file apart, as the header `ETag` has it.
    package let tag: String

    init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        type =
            switch name.split(separator: ".").last {
            case "html": "text/html; charset=utf-8"
            case "css": "text/css; charset=utf-8"
            case "js": "text/javascript; charset=utf-8"
            case "svg": "image/svg+xml"
            case "json": "application/json"
            default: "application/octet-stream"
            }
        tag = "\"" + Hexadecimal.encode(SHA256.digest(bytes).prefix(16)) + "\""
    }
}

/// The files of this folder, which the package's build puts into the program. A file that is added to the folder is added
/// to the list here too; a test compares the two.
package enum StaticFiles {
    /// The module for web pages.
    package static let module = StaticFile("sluice.js", PackageResources.sluice_js)

    /// The dashboard's own files; `index.html` is the page.
    package static let dashboard: [StaticFile] = [
        StaticFile("index.html", PackageResources.index_html),
        StaticFile("style.css", PackageResources.style_css),
        StaticFile("app.js", PackageResources.app_js),
        StaticFile("dom.js", PackageResources.dom_js),
        StaticFile("querybox.js", PackageResources.querybox_js),
        StaticFile("grid.js", PackageResources.grid_js),
        StaticFile("data.js", PackageResources.data_js),
        StaticFile("query.js", PackageResources.query_js),
        StaticFile("access.js", PackageResources.access_js),
        StaticFile("server.js", PackageResources.server_js),
    ]
}
