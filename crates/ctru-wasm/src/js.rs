//! The two types of JavaScript that the functions take and return. The package js-sys declares
//! these and all others, and takes longer to compile than this crate with ctru-math.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// Bytes.
    pub type Uint8Array;

    /// Copies bytes to the memory of JavaScript.
    #[wasm_bindgen(constructor)]
    pub fn new(bytes: &[u8]) -> Uint8Array;

    /// Returns the number of bytes.
    #[wasm_bindgen(method, getter)]
    pub fn length(this: &Uint8Array) -> usize;

    /// Copies all bytes of `from` to the beginning of `to`. Throws a `RangeError` if it has more.
    #[wasm_bindgen(js_namespace = ["Uint8Array", "prototype", "set"], js_name = call)]
    pub fn copy(to: &mut [u8], from: &Uint8Array);

    /// Values.
    pub type Array;

    /// Returns an array of two values.
    #[wasm_bindgen(static_method_of = Array, js_name = of)]
    pub fn pair(first: &Uint8Array, second: &Uint8Array) -> Array;

    /// Returns an array of three values.
    #[wasm_bindgen(static_method_of = Array, js_name = of)]
    pub fn triple(first: &JsValue, second: &JsValue, third: &JsValue) -> Array;
}
